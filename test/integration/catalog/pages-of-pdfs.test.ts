/** A PDF as a text document: its pages have their sizes, one for each. */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { conversionGround } from './ground.ts';

const ground = conversionGround('pages-of-pdfs');

/** @returns the sizes of the pages of a PDF, and their words, by another reader */
function pagesOf(path: string): { readonly sizes: readonly string[]; readonly words: readonly string[] } {
  const info = execFileSync('pdfinfo', ['-l', '9', path]).toString();
  const sizes = [...info.matchAll(/^Page +\d+ size: +([\d.]+) x ([\d.]+)/gm)].map(([, ...sides]) =>
    sides.map((side) => Math.round(Number(side))).join(' x '),
  );
  const text = execFileSync('pdftotext', [path, '-']).toString();
  return {
    sizes,
    words: text
      .split('\f')
      .slice(0, -1)
      .map((page) => page.trim()),
  };
}

describe.each(['odt', 'docx'])('a PDF as %s', (target) => {
  it.each([
    ['landscape', 0, ['842 x 595', '842 x 595']],
    ['turned by a quarter', 90, ['595 x 842', '595 x 842']],
  ])('has pages that are %s', async (_, turn, sizes) => {
    const file = join(await ground.aFolder(), 'a.pdf');
    const pages = pdf([['kestrel'], ['marble']], [842, 595]).toString('latin1');
    // As long as before, so that the table of its objects stays true.
    await writeFile(
      file,
      turn === 0 ? pages : pages.replaceAll('/Type /Page /Parent 2 0 R', `/Rotate ${turn} /Parent 2 0 R    `),
      'latin1',
    );
    const { path, job } = await ground.to(file, target);
    expect(job.warnings.map(({ code }) => code)).not.toContain('property_lost');
    const found = pagesOf((await ground.to(path, 'pdf')).path);
    expect(found.sizes).toEqual(sizes);
    // In a DOCX, LibreOffice breaks the lines of turned frames elsewhere.
    if (turn === 0) expect(found.words).toEqual(['kestrel', 'marble']);
  });
});
