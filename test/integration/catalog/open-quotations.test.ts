/** A quotation without an end swallows the rest of a CSV: the warning names the line that it begins in. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { conversionGround } from './ground.ts';

const ground = conversionGround('open-quotations');

describe.each(['json', 'xlsx'])('a CSV as %s', (target) => {
  it.each([
    ['a,b\n1,2\n3,"open\n5,6\n7,8\n', 3],
    ['a,b\n1,"2\n2"\n3,"open\n5,6\n', 4],
    ['a,b\r\n1,2\r\n3,4\r\n5,"open\r\n7,8\r\n', 4],
    ['a,b\n1,2\n3,"closed\n5,6",8\n', undefined],
    ['a,b\n1,2\n3,"closed\n5,6"\n', undefined],
  ])('of %j has the line of its open quotation', async (text, line) => {
    const path = join(await ground.aFolder(), 'a.csv');
    await writeFile(path, text);
    const said = (await ground.to(path, target)).job.warnings.map(({ message }) => /quotation mark in line (\d+)/.exec(message)?.[1]);
    expect(said.filter((each) => each !== undefined)).toEqual(line === undefined ? [] : [String(line)]);
  });
});
