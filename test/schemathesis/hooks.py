"""What Schemathesis cannot know of this API: files that can be converted, and which faults are answers."""

import struct
import zlib

import schemathesis
from hypothesis import strategies as st


def png(width: int, height: int) -> bytes:
    """A grey picture (PNG, Third Edition)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x80" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


FILES = [png(40, 30), b"name,size\nkestrel,7\n", b"# A heading\n\nAnd a sentence.\n", b"\0" * 64, b""]

schemathesis.openapi.format("binary", st.sampled_from(FILES))


@schemathesis.check
def only_documented_faults(ctx, response, case) -> None:
    """A conversion may fail, a tool may be missing, the service may be full: an INTERNAL_ERROR is a fault of ours."""
    # Of HEAD there is no body that would tell.
    if response.status_code < 500 or case.method == "HEAD":
        return
    code = response.json()["error"]["code"]
    assert code in ("CONVERSION_FAILED", "NOT_IMPLEMENTED", "OVERLOADED"), f"{response.status_code} {code}"


@schemathesis.serializer("application/offset+octet-stream")
def raw_bytes(ctx, value):
    """What tus sends: bytes as they are."""
    return value if isinstance(value, bytes) else str(value).encode()
