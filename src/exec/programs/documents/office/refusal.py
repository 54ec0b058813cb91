"""Why a conversion failed, as the API reports it."""


class Refusal(Exception):
    """A failed conversion, with the reason that the API reports."""

    def __init__(self, reason, words, details=None, misfit=None):
        super().__init__(words)
        self.answer = {"ok": False, "reason": reason, "words": words, **({"details": details} if details else {}), **({"misfit": misfit} if misfit else {})}


def bound(limit, most, received):
    if received > most:
        raise Refusal("input_limit", f"{limit} {received}, at most {most}", {"limit": limit, "max": most, "received": received})
