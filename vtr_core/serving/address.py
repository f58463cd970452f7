"""The address of a server, and validation of Host headers against DNS rebinding."""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Address:
    """The host that a server listens on as requested, and its actual port."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address for a browser."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/"

    def is_named_by(self, header: str | None) -> bool:
        """Whether a request's Host header names this server.

        On a loopback address, the valid names are that address, localhost and other loopback addresses; elsewhere
        also any numeric address and this machine's name. Names that others control are refused.
        """
        try:
            parts = urlsplit(f"//{header or ''}")
            name, given = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if given != self.port or not name or parts.username is not None or parts.path:
            return False
        if name == self.host.lower() or is_loopback(name):
            return True
        return not is_loopback(self.host) and (_in_digits(name) is not None or name == socket.gethostname().lower())


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is served on `host`."""
    address = _in_digits(host)
    return host == "localhost" if address is None else address.is_loopback


def _in_digits(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
