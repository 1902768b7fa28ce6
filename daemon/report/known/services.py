"""Messages about what lies outside of the box: the hub, logins, stores, trackers, networks."""

from __future__ import annotations

ROWS: tuple[tuple[str, str], ...] = (
    (
        (r"huggingface\.co(?:.|\n){0,400}(?:refused|unreachable|timed? ?out|couldn't connect|Name or service|resolve)|"
        r"(?:refused|unreachable|timed? ?out|couldn't connect|resolve)(?:.|\n){0,400}huggingface\.co"),
        ("see whether this box reaches the hub at all (`curl -I https://huggingface.co`; `env | grep -i proxy`): set the proxy or a mirror (HF_ENDPOINT), "
        "or fetch the files once where there is a network, bring them into HF_HOME or a folder here, and set HF_HUB_OFFLINE=1"),
    ),
    (
        r"outgoing traffic has been disabled|OfflineModeIsEnabled",
        ("compare the path of the model or data set with what is on this disk, letter by letter (`ls -ld PATH`): it is not there, and the hub is "
        "switched off (HF_HUB_OFFLINE); copy it back, or fetch it once with the hub on"),
    ),
    (
        r"gated repo|Access to model .{1,120} is restricted|awaiting a review|401 Client Error|Repository Not Found for url",
        "log in with an account that may read it (`hf auth login`, or HF_TOKEN), accept its terms on its page, and compare the name letter by letter",
    ),
    (
        r"Connection refused|actively refused|ECONNREFUSED",
        ("nothing listens there: start the server that the program talks to (a tracker, a database, a scheduler), or correct its address in the "
        "program's settings (MLFLOW_TRACKING_URI, WANDB_BASE_URL, MASTER_ADDR); see `ss -ltn` on that machine"),
    ),
    (
        r"WinError 1455|paging file is too small|[Ff]ile di paging|Auslagerungsdatei|fichier de pagination|archivo de paginaci",
        ("start fewer loader workers (`num_workers=0` to 2: each loads all libraries again), or make the paging file of Windows larger "
        "(System, Advanced, Performance, Virtual memory)"),
    ),
    (
        r"trust_remote_code",
        "read the code that the repository would run on this box, and if you trust it pass `trust_remote_code=True`; a newer transformers may know the model itself",
    ),
    (
        r"model type `?'?(?:[\w-]{1,60})`?'? but Transformers does not recognize|KeyError: '(?:qwen|llama|gemma|mistral|phi|deepseek|mixtral|olmo|glm)[\w.-]*'",
        "the installed transformers is older than this model: `python -m pip show transformers`, and install the version that its page asks for",
    ),
    (
        r"Can't load (?:the )?(?:configuration|config|model|tokenizer|feature extractor|image processor)\b.{0,10}(?:of|for) '(?P<name>[^'\n]{1,120})'",
        "compare {name} letter by letter with the folder on this disk (`ls -la`) or the page of the hub: it is in neither, or files are missing in it",
    ),
    (
        r"EntryNotFoundError|Entry Not Found|RevisionNotFoundError|404 Client Error|NoSuchKey|NoSuchBucket|404 Not Found",
        "compare the name letter by letter with what is there (the page of the hub, `aws s3 ls`, the URL in a browser): file, revision or bucket does not exist under it",
    ),
    (
        r"429 (?:Client Error|Too Many Requests)|Too Many Requests|[Rr]ate limit",
        "look at how many processes ask at once: let one rank fetch and the others wait, keep a local copy (HF_HOME on a lasting disk), log in for a higher limit, and wait some minutes",
    ),
    (
        r"Unable to locate credentials|NoCredentialsError|DefaultCredentialsError|ExpiredToken|InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|403 Forbidden|403 Client Error|\b403\b.{0,40}(?:HeadObject|GetObject|PutObject|Forbidden)",
        "see as whom this box asks (`aws sts get-caller-identity`, `gcloud auth list`): its keys are missing or have expired, or may not read that place; renew them and check the clock (`date -u`)",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|certificate (?:verify failed|has expired)|SSLCertVerificationError",
        "compare the clock of the box with the true time (`date -u`), and see whether a proxy stands between (`env | grep -i proxy`); its certificate belongs in REQUESTS_CA_BUNDLE",
    ),
    (
        r"api_key not configured|No API key configured|wandb login",
        "log in before the run (`wandb login`, or WANDB_API_KEY), or write to this disk only (`WANDB_MODE=offline`; `wandb sync` later)",
    ),
)  # fmt: skip
