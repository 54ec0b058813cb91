/**
 * Copies the smallest of several files; of equals, the first.
 *
 *   smallest.ts OUTPUT INPUT...
 */
import { copyFileSync, statSync } from 'node:fs';

const [output = '', ...inputs] = process.argv.slice(2);
const sizes = inputs.map((path) => statSync(path).size);
copyFileSync(inputs[sizes.indexOf(Math.min(...sizes))] ?? '', output);
