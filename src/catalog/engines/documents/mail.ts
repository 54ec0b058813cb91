/** E-mail, and web pages that were saved in its form, by a program of our own around well-known libraries. */
import { type Engine, everyPair } from '../../engine.ts';
import { EML } from '../../known-good.ts';
import { ownStep, reasonTold } from '../../planning/told.ts';

const MAILS = ['eml', 'mbox', 'msg'];
const LOSES = ['attached files, which are named'];

export const engine: Engine = {
  id: 'mail',
  name: 'filemill mail',
  role: 'markup',
  toolchains: ['office'],
  binaries: { mail: { at: ['program:documents/mail.ts'], version: { args: ['--version'], pattern: /^mail (\d+\.\d+)/ } } },
  conversions: [
    ...everyPair(MAILS, ['html'], { rank: 85, loses: [...LOSES, 'pictures that are on the web'] }),
    ...everyPair(MAILS, ['txt'], { rank: 85, loses: [...LOSES, 'pictures', 'formatting'] }),
    ...everyPair(MAILS, ['zip'], { rank: 85, loses: ['pictures that are on the web'] }),
    { source: 'mhtml', target: 'html', rank: 85, loses: ['programs and frames of the page', 'what is on the web'] },
    { source: 'mhtml', target: 'zip', rank: 85, loses: ['what is on the web'] },
    { source: 'mhtml', target: 'txt', rank: 85, loses: ['programs and frames of the page', 'pictures', 'formatting'] },
  ],
  trials: [{ file: EML, target: 'html' }],
  options: () => [],
  plan: ({ input, source, output, target }) => ({
    steps: [ownStep('mail', [input, source, `${output}/out.${target}`, target])],
  }),
  explain: (output, code) =>
    reasonTold(output, code, ['corrupt_input', 'unsupported_variant', 'input_limit']) ??
    (/heap out of memory|Invalid string length/.test(output) ? 'memory' : undefined),
  limits: { memoryBytes: 2 * 1024 ** 3 },
};
