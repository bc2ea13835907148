"""What both durable examples share: a hub that sends mails, and what to do about a mail that may have been sent.

A mail is sent by adding a line to a file. The hub has a store, so every mail has a row in its ledger before it is sent.
"""

import hashlib
import json
from pathlib import Path

from toolhub import ToolHub

INSTRUCTIONS = "You send mails for your user: one call of send_mail for each person. Then say who got a mail."


def open_hub(folder: Path) -> ToolHub:
    """A hub whose tools and ledger are in a folder."""
    hub = ToolHub(store=folder / "hub.db")

    @hub.tool(effects=True)
    def send_mail(to: str, text: str) -> str:
        """Send a mail."""
        deliver(folder, {"to": to, "text": text})
        return f"sent to {to}"

    return hub


def deliver(folder: Path, mail: dict[str, str]) -> None:
    """The effect itself."""
    with (folder / "outbox.ndjson").open("a", encoding="utf-8") as outbox:
        outbox.write(json.dumps(mail) + "\n")


def sent_mails(folder: Path) -> list[dict[str, str]]:
    """The mails in the outbox."""
    outbox = folder / "outbox.ndjson"
    lines = outbox.read_text(encoding="utf-8").splitlines() if outbox.exists() else []
    return [json.loads(line) for line in lines]


def settle(hub: ToolHub, sent: list[dict[str, str]]) -> list[str]:
    """Decide about the mails that a killed process may have sent, by looking into the outbox; what was decided.

    The ledger keeps the digest of the arguments, not the arguments: a mail of the outbox is compared by its own digest.
    """
    decided: list[str] = []
    for row in hub.ledger(state="unknown"):
        known = sum(one.arguments == row.arguments for one in hub.ledger(tool=row.tool, state="done"))
        equal = [mail for mail in sent if digest(mail) == row.arguments]
        if len(equal) > known:
            hub.settle(row.id, "done", f"sent to {equal[0]['to']}")
        else:
            hub.settle(row.id, "again")
        decided.append("done" if len(equal) > known else "again")
    return decided


def digest(arguments: dict[str, str]) -> str:
    """The digest of arguments that are texts, as the ledger has it."""
    canonical = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
