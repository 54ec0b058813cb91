"""The profile that LibreOffice is started with."""

import os
import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

INSTALLATION = Path(os.environ.get("OFFICE_INSTALLATION", "/usr/lib/libreoffice"))

# Turns off what a hostile document could trigger, and what would make one job differ from the next.
SETTINGS = (
    ("Common/Security/Scripting", "MacroSecurityLevel", "3"),
    ("Common/Security/Scripting", "DisableMacrosExecution", "true"),
    ("Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    ("Common/Security/Scripting", "CheckDocumentEvents", "true"),
    ("Calc/Content/Update", "Link", "2"),
    ("Writer/Content/Update", "Link", "2"),
    ("Writer/Content/Update", "Field", "false"),
    ("Writer/Content/Update", "Chart", "false"),
    ("Recovery/AutoSave", "Enabled", "false"),
    ("Recovery/RecoveryInfo", "Enabled", "false"),
    ("Common/History", "PickListSize", "0"),
    ("Common/Misc", "FirstRun", "false"),
    ("Common/Misc", "UseLocking", "false"),
    ("Common/Misc", "CrashReport", "false"),
    ("Common/VCL", "DisableOpenGL", "true"),
    ("Java/VirtualMachine", "Enable", "false"),
    ("Jobs/Jobs/org.openoffice.Office.Jobs:Job['UpdateCheck']/Arguments", "AutoCheckEnabled", "false"),
)
SETUP = (("L10N", "ooLocale", "en-US"), ("Office", "ooSetupInstCompleted", "true"), ("Office", "MigrationCompleted", "true"))


def write_profile(profile):
    """Writes a profile that LibreOffice takes for one that it has already set up."""
    user = profile / "user"
    (user / "extensions").mkdir(parents=True, exist_ok=True)
    build = re.search(r"^buildid=(.*)$", (INSTALLATION / "program/versionrc").read_text(), re.M)
    (user / "extensions/buildid").write_text(build.group(1) if build else "")
    rows = [(f"/org.openoffice.Setup/{path}", name, value) for path, name, value in SETUP]
    rows += [(f"/org.openoffice.Office.{path}", name, value) for path, name, value in SETTINGS]
    items = "".join(
        f'<item oor:path={quoteattr(path)}><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>\n' for path, name, value in rows
    )
    namespaces = 'xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    (user / "registrymodifications.xcu").write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n<oor:items {namespaces}>\n{items}</oor:items>\n')
