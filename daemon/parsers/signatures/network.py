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
        rf"^(?!.{{0,400}}{_TRACKER})(?:.*?(?:requests\.exceptions\.(?:\w*(?:Timeout"
        r"|ConnectionError"
        r"|ProxyError"
        r"|SSLError"
        r"|HTTPError"
        r"|ChunkedEncodingError"
        r"|ContentDecodingError"
        r"|RetryError))"
        r"|(?:httpx|aiohttp|httpcore|botocore)\.(?:\w+\.)*(?:\w*(?:Timeout"
        r"|Connect"
        r"|Connection"
        r"|Connector"
        r"|Proxy"
        r"|Protocol"
        r"|Read"
        r"|Write"
        r"|Payload"
        r"|ClientOS"
        r"|ServerDisconnected"
        r"|ClientResponse"
        r"|HTTPStatus"
        r"|EndpointConnection"
        r"|Incomplete)\w*Error"
        r"|\w+Timeout)): "
        r"|.*?huggingface_hub\.\S*(?:HfHubHTTPError"
        r"|LocalEntryNotFoundError(?!: Cannot find the requested files in the disk cache and outgoing traffic)"
        r"|RepositoryNotFoundError"
        r"|(?<!Local)EntryNotFoundError"
        r"|GatedRepoError"
        r"|HTTPError)"
        r"|.*?(?:OSError|ConnectionError): (?:We )?[Cc]ouldn't (?:connect to|reach) "
        r"|.*?urllib\.error\.(?:URLError|HTTPError)"
        r"|(?:\w+\.)*HfHubHTTPError\b"
        r"|(?:\w+\.)*ConnectionError: (?!\[Errno|Tried to launch)"
        r"|(?:\w+\.)*Connect(?:Error|Timeout): "
        r"|(?:\w+\.)+\w*Error: .{0,120}(?:Name or service not known|Temporary failure in name resolution)"
        r"|OSError: You are trying to access a gated repo"
        r"|.*?botocore\.exceptions\.(?:ClientError: An error occurred \((?:\d{3}"
        r"|SlowDown"
        r"|RequestTimeout"
        r"|ExpiredToken"
        r"|AccessDenied"
        r"|ServiceUnavailable"
        r"|InternalError)"
        r"|NoCredentialsError"
        r"|EndpointConnectionError)"
        r"|.*?google\.api_core\.exceptions\.(?:ServiceUnavailable"
        r"|TooManyRequests"
        r"|GatewayTimeout"
        r"|InternalServerError"
        r"|RetryError"
        r"|DeadlineExceeded)"
        r"|.*?azure\.core\.exceptions\.(?:ServiceRe\w+Error|HttpResponseError|IncompleteReadError))",
        narrow=(
            "botocore.",
            "httpcore.",
            "aiohttp.",
            "httpx.",
        ),
        source="requests, httpx, aiohttp, botocore, huggingface_hub, datasets, google-api-core, azure-core",
    ),
    Signature(
        "network-tool",
        "network_error",
        r"^(?!.*NCCL WARN)(?:.*?)(?:unable to access 'https?:"
        r"|(?<![^\s])curl: \((?:5|6|7|18|22|28|35|52|56|92)\)"
        r"|[Cc]ould not resolve host"
        r"|unable to resolve host address"
        r"|[Ff]ailed to connect to \S+ port \d+"
        r"|(?<![^\s])ssh: connect to host \S+ port \d+: "
        r"|\bkex_exchange_identification: "
        r"|fetch-pack: unexpected disconnect"
        r"|early EOF$"
        r"|\bdial tcp\b.{0,120}(?:no such host|connection refused|i/o timeout|no route to host|network is unreachable)"
        r"|net/http: TLS handshake timeout"
        r"|UNAVAILABLE: failed to connect to all addresses"
        r"|StatusCode\.UNAVAILABLE"
        r"|\bNetwork is unreachable\b"
        r"|\bNo route to host\b"
        r"|Could not connect to the endpoint URL"
        r"|rsync: .{0,20}connection unexpectedly closed)",
        source="curl, git, wget, openssh, Go net, grpc, glibc strerror",
    ),
    Signature(
        "login-broke",
        "network_error",
        r"^(?:client_loop: send disconnect|packet_write_wait: .{0,40}|Write failed): Broken pipe"
        r"|^Connection to \S+ (?:port \d+ )?closed by remote host"
        r"|^Timeout, server \S+ not responding",
        role="cascade",
        severity="warning",
        source="openssh: the other host or the connection to it is gone",
    ),
    Signature(
        "network-inner",
        "network_error",
        rf"^(?!.{{0,400}}{_TRACKER})(?:(?:\w+\.)*(?:RemoteDisconnected"
        r"|IncompleteRead"
        r"|ReadTimeout"
        r"|ConnectTimeout"
        r"|MaxRetryError"
        r"|NewConnectionError"
        r"|NameResolutionError"
        r"|ProtocolError"
        r"|ReadTimeoutError"
        r"|ConnectTimeoutError"
        r"|ProxyError)\b"
        r"|socket\.gaierror"
        r"|ssl\.SSL\w*Error"
        r"|(?:urllib3|httpcore|http\.client)\.(?:\w+\.)*\w*(?:Error|Timeout|IncompleteRead))",
        role="cascade",
        source="http.client, urllib3, httpcore, ssl: the calling library reports it again",
    ),
    Signature(
        "connection-dropped",
        "network_error",
        r"^(?:\w+\.)*Connection(?:Reset|Refused|Aborted)Error: "
        r"|^(?:socket\.timeout|TimeoutError): (?:The read operation )?[Tt]imed out",
        role="cascade",
        severity="warning",
        source="cpython",
    ),
    Signature(
        "network-again",
        "network_error",
        r"Max retries exceeded with url"
        r"|Temporary failure in name resolution"
        r"|Name or service not known"
        r"|Read timed out\."
        r"|Retrying in \d+s? \[Retry"
        r"|Retrying \(Retry\(total="
        r"|thrown while requesting (?:HEAD|GET|PUT|POST)"
        r"|\b429 Client Error: Too Many Requests"
        r"|\b50[0234] Server Error: ",
        role="confirmation",
        severity="info",
        fatal=False,
        source="urllib3, pip, huggingface_hub: another attempt follows",
    ),
)
