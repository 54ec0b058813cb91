/** A file whose judgement never ends costs its own sender the answer, and other clients nothing. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { convert, endProcess, readAnswer, type ServiceProcess, startProcess, untilEnded } from '../../kit/roles/service.ts';

const MARK = 'held-for-ever';
/** Loaded before all else, in every thread: code that makes a text of bytes with this mark never returns. Stands for the next mistake in a parser. */
const TRAP = `
const { toString } = Buffer.prototype;
Buffer.prototype.toString = function (...given) {
  const text = toString.apply(this, given);
  if (text.includes('${MARK}')) for (;;);
  return text;
};
`;

let dataDir: string;
let service: ServiceProcess;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'filemill-isolation-'));
  const trap = join(dataDir, 'trap.mjs');
  await writeFile(trap, TRAP);
  service = await startProcess(dataDir, { limits: { enabled: false } }, { NODE_OPTIONS: `--import=${trap}` });
});
afterAll(async () => {
  if (service !== undefined) await endProcess(service);
  await rm(dataDir, { recursive: true, force: true });
});

const named = (name: string, text: string) => ({ name, bytes: Buffer.from(text) });
const honest = named('honest.md', '# Honest\n');
const hostile = named('hostile.md', `# ${MARK}\n`);
/** The bytes do not have the mark, but what a converter makes of them does. */
const laterHostile = named('later.html', '<!doctype html><title>x</title><p>held-for-&#101;ver</p>');
/** \\145 is "e" in octal: the title that pdfinfo prints has the mark, the file has not. */
const titled = named(
  'titled.pdf',
  `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj
4 0 obj<</Title(held-for-\\145ver)>>endobj
trailer<</Root 1 0 R/Info 4 0 R/Size 5>>
%%EOF
`,
);

/** Sends honest files for as long as the hostile answer is awaited. @returns that, and how many were converted meanwhile */
async function beside<T>(answer: Promise<T>): Promise<{ readonly answer: T; readonly converted: number }> {
  let over = false;
  void answer.finally(() => {
    over = true;
  });
  let converted = 0;
  while (!over) {
    const { data } = await convert(service.url, honest, 'html');
    expect(data?.status).toBe('done');
    if (!over) converted++;
  }
  return { answer: await answer, converted };
}

it('what cannot be recognised in time is refused, while others are served', async () => {
  const { answer, converted } = await beside(convert(service.url, hostile, 'html'));
  expect([answer.status, answer.error?.code]).toEqual([415, 'UNSUPPORTED_MIME']);
  expect(converted).toBeGreaterThan(0);
});

it('in a batch it is the entry of that file alone', async () => {
  const form = new FormData();
  form.set('to_format', 'html');
  for (const { name, bytes } of [honest, hostile]) form.append('files[]', new Blob([bytes]), name);
  const { answer } = await beside(fetch(`${service.url}/api/v1/batch`, { method: 'POST', body: form }));
  const { data } = (await answer.json()) as { data: { jobs: { job_id: string; error?: { code: string } }[] } };
  expect(data.jobs.map(({ error }) => error?.code)).toEqual([undefined, 'UNSUPPORTED_MIME']);
  expect((await untilEnded(service.url, data.jobs[0]?.job_id ?? '')).data?.status).toBe('done');
});

it('a result that cannot be judged in time is no result, while others are served', async () => {
  const { answer, converted } = await beside(convert(service.url, laterHostile, 'txt'));
  expect([answer.status, answer.error?.details['reason']]).toEqual([500, 'output_invalid']);
  expect(converted).toBeGreaterThan(0);
});

it("what an engine's inspection says cannot be read in time is damage, while others are served", async () => {
  const { answer, converted } = await beside(convert(service.url, titled, 'png'));
  expect([answer.status, answer.error?.details['reason']]).toEqual([500, 'corrupt_input']);
  expect(converted).toBeGreaterThan(0);
});

it('afterwards everything is as before', async () => {
  expect((await readAnswer(await fetch(`${service.url}/api/v1/health`))).status).toBe(200);
  expect((await convert(service.url, honest, 'html')).data?.status).toBe('done');
  expect(service.lines.filter((line) => line.includes('was replaced')).length).toBe(4);
});
