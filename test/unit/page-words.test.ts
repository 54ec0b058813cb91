/** The page's other languages name every tool and option that the service has, and nothing else. */
import { describe, expect, it } from 'vitest';
import { formOptionNames } from '../../src/catalog/options/options.ts';
import { tools } from '../../src/catalog/tools.ts';
import { catalog as german } from '../../web/src/words/catalog.de.ts';
import { catalog as spanish } from '../../web/src/words/catalog.es.ts';

describe.each([
  ['German', german],
  ['Spanish', spanish],
])('the words of the catalogue in %s', (_, catalog) => {
  it('are those of each tool', () => {
    expect(Object.keys(catalog.tools).toSorted()).toEqual(tools.map(({ slug }) => slug).toSorted());
  });
  it('are those of each option', () => {
    const fields = tools.flatMap((tool) => Object.keys(tool.input.shape));
    expect(Object.keys(catalog.options).toSorted()).toEqual([...new Set([...formOptionNames, ...fields])].toSorted());
  });
});
