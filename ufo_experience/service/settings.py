"""How to reach the OpenAI service: key, address, prices and cap, checked before anything is sent."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from ufo_experience.errors import RefusedError, UsageError
from ufo_experience.service.ledger import PRICES, Ledger, Price

Provider = Literal["openai", "azure"]
PUBLIC_URL = "https://api.openai.com/v1"
_PRIVATE_ENDINGS = (".local", ".internal", ".lan", ".home.arpa", ".localdomain")  # no public name ends so
_SHOWN = 100  # characters of an address that is refused
AZURE_API_VERSION = "2024-10-21"


@dataclass(frozen=True)
class OpenAISettings:
    """How to reach the service. Immutable; the key is stripped and kept out of `repr`.

    `azure_endpoint` makes it an Azure client; `prices` (US dollars per million tokens) and `max_cost` (per run)
    feed the ledger, unless one is given, which all who use these settings then share. Embedding many texts sends
    `concurrency` requests at once, within the limits per minute (None: none). `allow_http` is the owner's word that a
    service inside a private network may be asked without TLS: texts and key then travel in clear.

    Raises:
        RefusedError: an address that is neither https nor on this machine, is link-local, or holds credentials.
        UsageError: a key that cannot be one.
    """

    api_key: str | None = field(default=None, repr=False)
    base_url: str = PUBLIC_URL
    organization: str | None = None
    project: str | None = None
    azure_endpoint: str | None = None
    api_version: str = AZURE_API_VERSION
    max_cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=lambda: PRICES, repr=False)
    ledger: Ledger | None = field(default=None, repr=False, compare=False)
    concurrency: int = 4
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    allow_http: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_key", _clean_key(self.api_key))
        _check_url(
            self.endpoint, self.allow_http, "AZURE_OPENAI_ENDPOINT" if self.azure_endpoint else "OPENAI_BASE_URL"
        )

    @classmethod
    def from_env(
        cls,
        provider: Provider | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        **given: Any,
    ) -> OpenAISettings:
        """Read the environment; what is `given` wins.

        `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID`; for Azure `AZURE_OPENAI_API_KEY`,
        `AZURE_OPENAI_ENDPOINT` and `OPENAI_API_VERSION`. Without a `provider`, Azure is meant when only it is set.
        """
        env = os.environ if environ is None else environ
        if provider is None:
            only_azure = env.get("AZURE_OPENAI_ENDPOINT") and not env.get("OPENAI_API_KEY")
            provider = "azure" if only_azure else "openai"
        found = {name: env.get(variable, "").strip() for name, variable in _VARIABLES[provider].items()}
        found = {name: value for name, value in found.items() if value}
        if provider == "azure" and "azure_endpoint" not in {**found, **given}:
            raise UsageError("Azure needs its endpoint: set AZURE_OPENAI_ENDPOINT")
        return cls(**{**found, **given})

    @property
    def endpoint(self) -> str:
        """The address in use; callers of one address share a breaker."""
        return (self.azure_endpoint or self.base_url).rstrip("/")

    @property
    def is_local(self) -> bool:
        """True when the service runs on this machine, where no key is needed."""
        return _is_loopback(urlsplit(self.endpoint).hostname or "")

    def has_key(self) -> bool:
        """True when a key is configured."""
        return self.api_key is not None


_VARIABLES: dict[str, dict[str, str]] = {
    "openai": {
        "api_key": "OPENAI_API_KEY",
        "base_url": "OPENAI_BASE_URL",
        "organization": "OPENAI_ORG_ID",
        "project": "OPENAI_PROJECT_ID",
    },
    "azure": {
        "api_key": "AZURE_OPENAI_API_KEY",
        "azure_endpoint": "AZURE_OPENAI_ENDPOINT",
        "api_version": "OPENAI_API_VERSION",
    },
}


def _clean_key(key: str | None) -> str | None:
    """Strip the newline a file or shell left behind; an empty key is no key."""
    clean = (key or "").strip()
    if not all("!" <= character <= "~" for character in clean):
        raise UsageError("the API key holds a space or a character that no key has (its value is not shown)")
    return clean or None


def _check_url(url: str, allow_http: bool, variable: str) -> None:
    """Let pass https, http to this machine, and if the owner says so http to a private network."""
    try:
        parts = urlsplit(url)
        port_is_number = parts.port is None or parts.port > 0
    except ValueError as error:
        raise RefusedError(f"the base URL is no URL ({variable})") from error
    bare = not (parts.hostname or "@" in url)  # no host that could be named, and no credentials
    where = repr(url[:_SHOWN]) if bare else f"{parts.scheme}://{parts.hostname or ''}"
    for wrong, reason in _url_faults(url, parts, allow_http):
        if wrong or not port_is_number:
            raise RefusedError(f"base URL {where} refused ({variable}): {reason}")


def _url_faults(url: str, parts: SplitResult, allow_http: bool) -> list[tuple[bool, str]]:
    host = parts.hostname or ""
    return [
        (not url.isprintable() or " " in url or "\\" in url, "it holds a space, a backslash or a control character"),
        (not host, "it has no host"),
        (parts.username is not None or parts.password is not None, "it holds credentials"),
        (bool(parts.query or parts.fragment), "it holds a query or fragment"),
        (_is_internal(host), "the address is link-local or not a host's"),
        (parts.scheme not in ("https", "http"), "only https is allowed"),
        (parts.scheme == "http" and not (_is_loopback(host) or (allow_http and _is_private(host))), _http_fault(host)),
    ]


def _http_fault(host: str) -> str:
    if _is_private(host):
        return "http is allowed to this machine only; use https, or --allow-http-service (setting allow_http_service)"
    return "http is allowed to this machine only, use https"


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _is_private(host: str) -> bool:
    """True for an address of a private network, and for a name that only such a network can resolve."""
    address = _address(host)
    if address is None:
        return "." not in host or host.lower().endswith(_PRIVATE_ENDINGS)
    return address.is_private


def _is_internal(host: str) -> bool:
    address = _address(host)
    return address is not None and (address.is_link_local or address.is_multicast or address.is_unspecified)
