/** The program around LibreOffice, without LibreOffice: what a sheet's areas say of its columns, and what is left where it works. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { zipOf } from '../../../../../src/exec/programs/archives/zip.ts';
import { writePieces } from '../../../../../src/exec/programs/process/pieces.ts';

const folder = mkdtempSync(join(tmpdir(), 'filemill-office-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const OFFICE = resolve('src/exec/programs/documents/office');

/** @returns what the script printed @param timeout s */
function python(script: string, timeout = 60): unknown {
  const { stdout, stderr } = spawnSync('python3', ['-B', '-c', `import sys\nsys.path.insert(0, ${JSON.stringify(OFFICE)})\n${script}`], {
    encoding: 'utf8',
    cwd: folder,
    timeout: timeout * 1000,
  });
  return stdout === '' ? stderr : JSON.parse(stdout);
}

it('tells of each column what the areas of its row say', () => {
  const script = `
import json
from sheets.rows import by_row
at = by_row([(2, 3, 0, 1, "date"), (0, 9, 4, 16000, "time"), (3, 3, 2, 2, "logical"), (4, 4, 0, 0, "date"), (6, 6, 0, 3, "date")])
print(json.dumps([[at(row).get(column) for column in (0, 1, 2, 3, 4, 9000, 16001)] for row in (0, 2, 3, 4, 5, 8, 10)]))`;
  expect(python(script)).toEqual([
    [null, null, null, null, 'time', 'time', null],
    ['date', 'date', null, null, 'time', 'time', null],
    ['date', 'date', 'logical', null, 'time', 'time', null],
    ['date', null, null, null, 'time', 'time', null],
    [null, null, null, null, 'time', 'time', null],
    [null, null, null, null, 'time', 'time', null],
    [null, null, null, null, null, null, null],
  ]);
});

it('takes no time for columns that stay the same where another one changes with each row', () => {
  const script = `
import json
from time import process_time
from sheets.rows import by_row
rows = 10_000
at = by_row([(0, rows, 2 * column, 2 * column, "date") for column in range(1, 8_000)] + [(row, row, 0, 0, "time") for row in range(0, rows, 2)])
began = process_time()
kinds = {(at(row).get(0), at(row).get(8_000)) for row in range(rows)}
print(json.dumps([sorted(map(str, kinds)), process_time() - began < 3]))`;
  expect(python(script)).toEqual([["('time', 'date')", "(None, 'date')"].sort(), true]);
});

it('gives links a style, also where their instruction begins blank, and takes no time for fields that never end', () => {
  const script = `
import json
from time import process_time
from sources.amended import styled
begin, end = b'<w:fldChar w:fldCharType="begin"/>', b'<w:fldChar w:fldCharType="end"/>'
link = begin + b'<w:instrText xml:space="preserve"> </w:instrText><w:instrText>HYPERLINK "x"</w:instrText><w:r><w:t>led</w:t></w:r>' + end
other = begin + b'<w:instrText>PAGE</w:instrText><w:r><w:t>1</w:t></w:r>' + end + b'<w:r><w:t>plain</w:t></w:r>'
after = styled(link + other, set())
deep = b'<w:hyperlink>' + begin * 200_000
began = process_time()
same = styled(deep, set()) is deep
print(json.dumps([after.count(b'<w:rPr>'), after.index(b'<w:rPr>') < after.index(b'led'), same, process_time() - began < 3]))`;
  expect(python(script)).toEqual([1, true, true, true]);
});

it('leaves a document as it is, without a warning, where a copy of it fails', () => {
  const bytes = zipOf([
    { name: 'word/header1.xml', bytes: Buffer.from('<w:hdr><w:commentRangeStart w:id="0"/></w:hdr>') },
    { name: '[content_types].xml', bytes: Buffer.from('<Types></Types>') },
    { name: 'word/document.xml', bytes: Buffer.from('<w:hyperlink><w:r><w:t>led</w:t></w:r></w:hyperlink>') },
  ]);
  writePieces(join(folder, 'lower.docx'), bytes);
  const script = `
import json
from pathlib import Path
from sources.amended import amended
warnings = []
print(json.dumps([str(amended(Path("lower.docx"), "docx", "pdf", warnings, Path("copy"))), warnings]))`;
  expect(python(script)).toEqual(['lower.docx', []]);
  rmSync(join(folder, 'lower.docx'));
});

it('gives links of RTF a style whose number no other has, of paragraphs neither', () => {
  writeFileSync(
    join(folder, 'a.rtf'),
    '{\\rtf1{\\stylesheet{\\s7 a;}{\\*\\cs3 b;}{\\*\\ts9 c;}}{\\field{\\*\\fldinst{HYPERLINK "x"}}{\\fldrslt led}}}',
  );
  const script = `
import json
from pathlib import Path
from sources.amended import amended
path = amended(Path("a.rtf"), "rtf", "pdf", [], Path("copy"))
print(json.dumps("cs10 FilemillLink" in path.read_text()))`;
  expect(python(script)).toBe(true);
  for (const name of ['a.rtf', 'copy']) rmSync(join(folder, name));
});

it('leaves no copy behind of a document whose header has comments', () => {
  writePieces(
    join(folder, 'in.docx'),
    zipOf([{ name: 'word/header1.xml', bytes: Buffer.from('<w:hdr><w:commentRangeStart w:id="0"/></w:hdr>') }]),
  );
  // Stands for LibreOffice: it notes what it is given, and loads nothing.
  const names = ['com', 'com.sun', 'com.sun.star', 'com.sun.star.lang', 'com.sun.star.task', 'com.sun.star.beans', 'unohelper'];
  const script = `
import json, types
for name in ${JSON.stringify(names)}:
    sys.modules[name] = types.ModuleType(name)
sys.modules["unohelper"].Base = type("Base", (), {})
sys.modules["com.sun.star.lang"].IllegalArgumentException = type("IllegalArgumentException", (Exception,), {})
sys.modules["com.sun.star.task"].XInteractionHandler = type("XInteractionHandler", (), {})
sys.modules["com.sun.star.beans"].PropertyValue = lambda *values: values
from pathlib import Path
from urllib.parse import urlparse
from zipfile import ZipFile
from reading import load
from refusal import Refusal
class Office:
    desktop = property(lambda self: self)
    def file_access(self): return self
    def openFileRead(self, url):
        self.read = ZipFile(urlparse(url).path).read("word/header1.xml").decode()
    def loadComponentFromURL(self, *_): return None
office, warnings = Office(), []
try:
    load(office, {"input": "in.docx", "source": "docx", "target": "odt"}, warnings)
except Refusal as refusal:
    print(json.dumps([office.read, len(warnings)]))`;
  writeFileSync(join(folder, 'other'), '');
  expect(python(script)).toEqual(['<w:hdr></w:hdr>', 1]);
  expect(readdirSync(folder).toSorted()).toEqual(['in.docx', 'other']);
});
