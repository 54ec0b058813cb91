/** Documents that open with a password only, written by LibreOffice itself: our programs read them, and write none. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkout } from '../roles/service.ts';

export const PASSWORD = 'sécret 1';
export const LOCKED_WORDS = 'locked words';
const FORMATS = ['docx', 'odt', 'xlsx'] as const;

export async function lockedDocuments(): Promise<ReadonlyMap<string, Buffer>> {
  // A socket is made in it: its path has to be short.
  const folder = await mkdtemp('/tmp/fm-locked-');
  try {
    await promisify(execFile)(
      '/usr/bin/python3',
      ['-c', SCRIPT, join(checkout, 'src/exec/programs/documents'), folder, PASSWORD, LOCKED_WORDS],
      {
        cwd: folder,
      },
    );
    return new Map(await Promise.all(FORMATS.map(async (format) => [format, await readFile(join(folder, `locked.${format}`))] as const)));
  } finally {
    await rm(folder, { recursive: true });
  }
}

const SCRIPT = `
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1] + "/office")
sys.dont_write_bytecode = True
import uno
from formats import READS
from over_pipe import OfficeOverPipe
from reading import as_properties
from com.sun.star.beans import NamedValue
folder, password, words = Path(sys.argv[2]), sys.argv[3], sys.argv[4]
libre = OfficeOverPipe(folder)
data = uno.Any("[]com.sun.star.beans.NamedValue", (NamedValue("OOXPassword", password), NamedValue("CryptoType", "Standard")))
for kind, formats in (("swriter", ("docx", "odt")), ("scalc", ("xlsx",))):
    for format in formats:
        made = libre.desktop.loadComponentFromURL("private:factory/" + kind, "_blank", 0, as_properties({"Hidden": True}))
        if kind == "swriter": made.Text.String = words
        else: made.Sheets.getByIndex(0).getCellByPosition(0, 0).String = words
        lock = {"Password": password} if format == "odt" else {"EncryptionData": data}
        made.storeToURL((folder / f"locked.{format}").as_uri(), as_properties({"FilterName": READS[format], **lock}))
        made.close(True)
libre.stop()
`;
