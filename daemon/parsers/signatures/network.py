"""Signatures of the network outside the job: hubs, HTTP, name service, storage services.

Wordings: requests, urllib3, httpx, aiohttp, huggingface_hub, datasets, botocore, google and
azure clients, grpc, Go net, curl, git, ssh, pip. Experiment trackers have rows of their own.
"""

from __future__ import annotations

from .form import Signature

_TRACKER = r"(?:api\.wandb\.ai|\bwandb\b|[Nn]eptune|mlflow|comet_ml|www\.comet|clearml|swanlab)"

NETWORK: tuple[Signature, ...] = (
    Signature(
        "http-client",
        "network_error",
        rf"^(?!.{{0,400}}{_TRACKER})(?:.*?(?:requests\.exceptions\.(?:\w*(?:Timeout|ConnectionError|ProxyError|SSLError|HTTPError|ChunkedEncodingError|ContentDecodingError|RetryError))|(?:httpx|aiohttp|httpcore|botocore)\.(?:\w+\.)*(?:\w*(?:Timeout|Connect|Connection|Connector|Proxy|Protocol|Read|Write|Payload|ClientOS|ServerDisconnected|ClientResponse|HTTPStatus|EndpointConnection|Incomplete)\w*Error|\w+Timeout)): "
        r"|.*?huggingface_hub\.\S*(?:HfHubHTTPError|LocalEntryNotFoundError|RepositoryNotFoundError|EntryNotFoundError|GatedRepoError|OfflineModeIsEnabled|HTTPError)|.*?(?:OSError|ConnectionError): (?:We )?[Cc]ouldn't (?:connect to|reach) |.*?urllib\.error\.(?:URLError|HTTPError)|(?:\w+\.)*HfHubHTTPError\b|(?:\w+\.)*ConnectionError: (?!\[Errno)|OSError: You are trying to access a gated repo"
        r"|.*?botocore\.exceptions\.(?:ClientError: An error occurred \((?:\d{3}|SlowDown|RequestTimeout|ExpiredToken|AccessDenied|ServiceUnavailable|InternalError)|NoCredentialsError|EndpointConnectionError)|.*?google\.api_core\.exceptions\.(?:ServiceUnavailable|TooManyRequests|GatewayTimeout|InternalServerError|RetryError|DeadlineExceeded)|.*?azure\.core\.exceptions\.(?:ServiceRe\w+Error|HttpResponseError|IncompleteReadError))",
        (
            "requests.exceptions",
            "httpx.",
            "aiohttp.",
            "httpcore.",
            "botocore.",
            "huggingface_hub.",
            "couldn't connect",
            "couldn't reach",
            "urllib.error",
            "hfhubhttperror",
            "connectionerror",
            "gated repo",
            "google.api_core",
            "azure.core",
        ),
        (
            "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='hub.example', port=443): Read timed out. (read timeout=10)",
            "requests.exceptions.ChunkedEncodingError: ('Connection broken: IncompleteRead(7 bytes read, 5 more expected)', IncompleteRead(7 bytes read, 5 more expected))",
            "OSError: We couldn't connect to 'https://hub.example' to load this file",
            "huggingface_hub.utils._errors.LocalEntryNotFoundError: cannot find the file on disk",
            "huggingface_hub.errors.HfHubHTTPError: 504 Server Error: Gateway Time-out for url: https://hub.example/a",
            "ConnectionError: Couldn't reach https://hub.example/data.csv (error 503)",
            "urllib.error.URLError: <urlopen error [Errno 110] Connection timed out>",
            "aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host hub.example:443",
            "botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL",
        ),
        (
            "requests per second: 12",
            "wandb: Network error (ConnectionError), entering retry loop.",
            "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.wandb.ai', port=443): Max retries exceeded",
            "requests.exceptions.JSONDecodeError: Expecting value",
            "Connection established",
        ),
        source="requests, httpx, aiohttp, botocore, huggingface_hub, datasets, google-api-core, azure-core",
    ),
    Signature(
        "network-tool",
        "network_error",
        r"unable to access 'https?:|^curl: \((?:5|6|7|18|22|28|35|52|56|92)\)|[Cc]ould not resolve host|unable to resolve host address|[Ff]ailed to connect to \S+ port \d+|^ssh: connect to host \S+ port \d+: |\bkex_exchange_identification: |^(?:client_loop: send disconnect|packet_write_wait: .{0,40}|Write failed): Broken pipe|^fetch-pack: unexpected disconnect|early EOF$"
        r"|\bdial tcp\b.{0,120}(?:no such host|connection refused|i/o timeout|no route to host|network is unreachable)|net/http: TLS handshake timeout|UNAVAILABLE: failed to connect to all addresses|StatusCode\.UNAVAILABLE|\bNetwork is unreachable\b|\bNo route to host\b",
        (
            "unable to access",
            "curl: (",
            "could not resolve",
            "unable to resolve",
            "failed to connect",
            "ssh: connect",
            "kex_exchange",
            "broken pipe",
            "fetch-pack",
            "early eof",
            "dial tcp",
            "tls handshake timeout",
            "unavailable",
            "network is unreachable",
            "no route to host",
        ),
        (
            "fatal: unable to access 'https://git.example/a.git/': Could not resolve host: git.example",
            "curl: (28) Operation timed out after 300000 milliseconds",
            "wget: unable to resolve host address 'data.example'",
            "ssh: connect to host node02 port 22: Connection refused",
            "dial tcp: lookup hub.example on 10.0.0.2:53: no such host",
            "OSError: [Errno 101] Network is unreachable",
        ),
        (
            "curl 7.88.1 (x86_64-pc-linux-gnu)",
            "found no relevant network interfaces",
            "metric unavailable for this step",
        ),
        source="curl, git, wget, openssh, Go net, grpc, glibc strerror",
    ),
    Signature(
        "network-inner",
        "network_error",
        rf"^(?!.{{0,400}}{_TRACKER})(?:(?:\w+\.)*(?:RemoteDisconnected|IncompleteRead|ReadTimeout|ConnectTimeout|MaxRetryError|NewConnectionError|NameResolutionError|ProtocolError|ReadTimeoutError|ConnectTimeoutError|ProxyError)\b|socket\.gaierror|ssl\.SSL\w*Error|(?:urllib3|httpcore|http\.client)\.(?:\w+\.)*\w*(?:Error|Timeout|IncompleteRead))",
        (
            "remotedisconnected",
            "incompleteread",
            "readtimeout",
            "connecttimeout",
            "maxretryerror",
            "connectionerror",
            "nameresolutionerror",
            "protocolerror",
            "proxyerror",
            "gaierror",
            "ssl.ssl",
            "urllib",
            "httpcore.",
            "http.client.",
        ),
        (
            "http.client.IncompleteRead: IncompleteRead(7 bytes read, 5 more expected)",
            "urllib3.exceptions.ProtocolError: ('Connection broken: IncompleteRead(7 bytes read)', None)",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed",
        ),
        (
            "urllib is deprecated",
            "urllib3.exceptions.NewConnectionError: host='api.wandb.ai'",
            "http.client: debug off",
        ),
        role="cascade",
        source="http.client, urllib3, httpcore, ssl: the library that called them says it once more in its own words",
    ),
    Signature(
        "connection-dropped",
        "network_error",
        r"^(?:\w+\.)*Connection(?:Reset|Refused|Aborted)Error: |^(?:socket\.timeout|TimeoutError): (?:The read operation )?[Tt]imed out",
        (
            "connectionreseterror",
            "connectionrefusederror",
            "connectionabortederror",
            "socket.timeout",
            "timeouterror",
        ),
        ("ConnectionResetError: [Errno 104] Connection reset by peer",),
        ("TimeoutError: worker did not answer",),
        role="cascade",
        severity="warning",
        source="cpython",
    ),
    Signature(
        "network-again",
        "network_error",
        r"Max retries exceeded with url|Temporary failure in name resolution|Name or service not known|Read timed out\.|Retrying in \d+s? \[Retry|Retrying \(Retry\(total=|thrown while requesting (?:HEAD|GET|PUT|POST)|\b429 Client Error: Too Many Requests|\b50[0234] Server Error: ",
        (
            "max retries exceeded",
            "failure in name resolution",
            "service not known",
            "read timed out",
            "retrying in",
            "retrying (retry",
            "thrown while requesting",
            "client error: too many",
            "server error: ",
        ),
        (
            "'(MaxRetryError(\"HTTPSConnectionPool(host='hub.example', port=443): Max retries exceeded with url: /a\"))' thrown while requesting HEAD",
            "WARNING: Retrying (Retry(total=4, connect=None, read=None)) after connection broken",
            "504 Server Error: Gateway Time-out for url: https://hub.example/a",
        ),
        ("max_retries: 5", "500 server errors allowed"),
        role="confirmation",
        severity="info",
        fatal=False,
        source="urllib3, pip, huggingface_hub: another attempt follows",
    ),
)
