"""Runs LibreOffice: each line of JSON on stdin requests one conversion, and one line of JSON on stdout answers it.

  office.py             serves requests until stdin ends; first prints {"ready": true, "fresh": "fork"}: each is served by a new process that
                        was forked ahead (office/fork_server.py); or {"ready": true, "fresh": "process", "reason"}: LibreOffice cannot be
                        forked here, and this process is to serve one request only
  office.py --once      answers one request and exits: 0 done, 1 failed
  office.py --version   prints "LibreOffice 7.4", and "it forks" or why it does not

It writes only to the current folder, which also holds LibreOffice's profile.

Request: input (path), source (format id, detected by our own sniffing), output (path of an empty folder), target (format id),
family ("text", "sheet" or "slides": what the source becomes once it is loaded), and optional passwordFile (path), pages ([[first, last], ...]), pageSizes ([[width, height], ...] of a PDF, points),
quality (1 to 100, of JPEG in a PDF), pdfa ("2b": a PDF/A-2b), csvTypes ("auto": numbers of a CSV are read as such however they are written). Answer: {"ok": true, "warnings": []} or {"ok": false, "reason", "words", "details"?}.
"""

import json
import os
import re
import sys
from pathlib import Path

# They lie beside this file, where nothing is written.
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).with_name("office")))

from confinement import confine  # noqa: E402
from conversion import convert  # noqa: E402
from fork_server import serve  # noqa: E402
from in_process import OfficeInProcess, Unavailable, libraries  # noqa: E402
from over_pipe import OfficeOverPipe  # noqa: E402
from refusal import Refusal  # noqa: E402
from samples import warm_up  # noqa: E402
from settings import INSTALLATION  # noqa: E402
from wire import say  # noqa: E402


def open_office(folder):
    """Returns LibreOffice, and why it is not in this process if it is not."""
    try:
        return OfficeInProcess(folder), None
    except Unavailable as unavailable:
        return OfficeOverPipe(folder), str(unavailable)


def why_not_forked():
    try:
        libraries()
        return None
    except Unavailable as unavailable:
        return str(unavailable)


def answer(office, line):
    try:
        return {"ok": True, "warnings": office.run(lambda: convert(office, json.loads(line)))}
    except Refusal as refusal:
        return refusal.answer


def main(mode):
    if mode == "--version":
        text = (INSTALLATION / "program/bootstraprc").read_text()
        print(re.search(r"^ProductKey=(LibreOffice [\d.]+)", text, re.M).group(1))
        print(why_not_forked() or "it forks")
        return 0
    folder = Path.cwd()
    office, reason = open_office(folder)
    try:
        if mode == "--once":
            line = sys.stdin.readline()
            if reason is None:
                confine(folder, json.loads(line)["source"])
            told = answer(office, line)
            say(told)
            return 0 if told["ok"] else 1
        if reason is None:
            warm_up(office, folder)
            office.write_configuration()
            serve(office, answer)
            return 0
        say({"ready": True, "fresh": "process", "reason": reason[:200]})
        for line in sys.stdin:
            say(answer(office, line))
        return 0
    finally:
        office.stop()


if __name__ == "__main__":
    code = main(sys.argv[1] if len(sys.argv) > 1 else "")
    sys.stdout.flush()
    # LibreOffice in our process has a thread that never ends.
    os._exit(code)
