"""Cases that are not played, each with its reason."""

BINARY = (
    "binary messages: the protocol `muster.v1.json` has none, and the transport refuses them at their header (4004)"
)
DEFLATE = "permessage-deflate (RFC 7692) is an option that the server does not offer"

# Cases that send binary messages.
BINARY_CASES = [
    *(f"1.2.{n}" for n in range(1, 9)),
    *(f"9.2.{n}" for n in range(1, 7)),
    *(f"9.4.{n}" for n in range(1, 10)),
    *(f"9.6.{n}" for n in range(1, 7)),
    *(f"9.8.{n}" for n in range(1, 7)),
]
# 12.1 to 12.5 have 18 cases each, 13.1 to 13.7 as well.
COMPRESSION = [
    *(f"12.{group}.{n}" for group in range(1, 6) for n in range(1, 19)),
    *(f"13.{group}.{n}" for group in range(1, 8) for n in range(1, 19)),
]


def reason(number):
    """The reason why a case is excluded; `None` if it is not."""
    if number in BINARY_CASES:
        return BINARY
    return DEFLATE if number in COMPRESSION else None


def summary(reasons):
    for why in dict.fromkeys(reasons.values()):
        numbers = [number for number in reasons if reasons[number] == why]
        groups = dict.fromkeys(".".join(number.split(".")[:2]) for number in numbers)
        yield f"excluded, {len(numbers)} cases ({', '.join(f'{group}.*' for group in groups)}): {why}"
