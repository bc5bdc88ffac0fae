"""Cases that fail, each with the reason."""

FAILURES = {
    "more/8.1.2.1/1": "the library h2 0.3.27 drops pseudo-header fields of trailers instead of resetting the stream "
    "(`recv_trailers`); the server does not use trailers",
}
