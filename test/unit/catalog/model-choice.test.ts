/** Which model a tool takes: the best that is installed, the next one where a file does not fit, and each by its name. */
import { expect, it } from 'vitest';
import { createCatalog } from '../../../src/catalog/catalog.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import type { ByPlan, ToolSource } from '../../../src/catalog/tool.ts';
import { toolNamed } from '../../../src/catalog/tools.ts';

const workOf = (slug: string): ByPlan => {
  const work = toolNamed(slug)?.work;
  if (work === undefined || !('methods' in work)) throw new Error(`${slug} has no methods`);
  return work;
};
/** @param ids of engines that are installed */
const catalogOf = (...ids: readonly string[]) =>
  createCatalog(engines.filter(({ id }) => ids.includes(id)).map((engine) => ({ engine, version: '1' })));

it.each([
  ['remove-object', ['inpaint-large', 'inpaint', 'retouch'], ['lama', 'migan', 'classical']],
  ['remove-background', ['matte-fine', 'matte-large', 'matte', 'retouch'], ['isnet-general-use', 'u2net', 'u2netp', 'classical']],
  ['vocal-remover', ['stems', 'separate'], ['spleeter-2stems', 'classical']],
  [
    'speech-to-text',
    ['speech-turbo', 'speech-small', 'speech', 'dictation'],
    ['whisper-large-v3-turbo', 'whisper-small', 'whisper-base', 'pocketsphinx'],
  ],
  ['enhance-photo', ['retouch', 'clean', 'enlarge'], ['classical', 'scunet-psnr', 'realesrgan-x4plus']],
  ['restore-old-photo', ['retouch', 'clean', 'enlarge'], ['classical', 'scunet-psnr', 'realesrgan-x4plus']],
  ['colorize-photo', ['colourise'], ['ddcolor-tiny']],
])('%s takes the first that is installed, and each by its name', (slug, ids, names) => {
  const work = workOf(slug);
  const all = catalogOf(...ids);
  expect(all.methods(work).map(({ engine }) => engine.name)).toEqual(names);
  expect(all.method(work)?.engine.name).toBe(names[0]);
  for (const model of names) expect(all.method(work, { model })?.engine.name).toBe(model);
  for (const [i, id] of ids.entries()) expect(catalogOf(id).method(work, { model: names[i] })?.engine.id).toBe(id);
  expect(all.method(work, { model: 'none' })).toBeUndefined();
});

const recording = (duration: number): readonly ToolSource[] => [
  { path: '/a.wav', format: 'wav', facts: { media: { audio: [], video: [], covers: [], subtitles: [], duration } } },
];

it.each([
  [5, 'whisper-large-v3-turbo'],
  [30, 'whisper-small'],
  [100, 'whisper-base'],
])('writes %i minutes of speech down by the best that does it in time', (minutes, name) => {
  const methods = workOf('speech-to-text').methods;
  expect(methods.find(({ fits }) => fits?.(recording(minutes * 60)) ?? true)?.engine.name).toBe(name);
});
