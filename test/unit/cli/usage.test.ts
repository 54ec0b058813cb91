/** What `filemill <role> --help` shows: examples that its usage allows. */
import { describe, expect, it } from 'vitest';
import { HELP, helpOf } from '../../../src/cli/usage.ts';
import { VARIABLES } from '../../../src/config.ts';

const variablesIn = (example: string): readonly string[] => [...example.matchAll(/\b([A-Z][A-Z0-9_]+)=/g)].map(([, name = '']) => name);
const flagsIn = (text: string): readonly string[] => [...text.matchAll(/--[a-z]+/g)].map(([flag]) => flag);

describe.each(Object.entries(HELP))('the help of %s', (name, { usage, examples }) => {
  it.each(examples)('can show %s', (example) => {
    expect(helpOf(name, VARIABLES).split('\n')).toContain(`  ${example}`);
    expect(example).toMatch(new RegExp(`(?:^| )filemill ${name}(?: |$)`));
    for (const flag of flagsIn(example)) expect(flagsIn(usage)).toContain(flag);
    for (const variable of variablesIn(example)) expect([...Object.keys(VARIABLES), 'CONFIG_FILE']).toContain(variable);
  });
});
