/** A tool with its own plan has engines in order of preference, such as a model before a classical method. */
import { describe, expect, it } from 'vitest';
import { describeTools } from '../../../src/api/tools/list.ts';
import { createCatalog } from '../../../src/catalog/catalog.ts';
import { engine as model } from '../../../src/catalog/engines/media/ffmpeg.ts';
import { engine as classical } from '../../../src/catalog/engines/pdf/qpdf.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import type { ByPlan } from '../../../src/catalog/tool.ts';
import { absentTools, listedTools, tools } from '../../../src/catalog/tools.ts';

const plan = () => ({ steps: [] });
const work: ByPlan = {
  methods: [
    { engine: model, plan },
    { engine: classical, plan },
  ],
  target: () => 'png',
};
const without = (...ids: readonly string[]) =>
  createCatalog(engines.filter(({ id }) => !ids.includes(id)).map((engine) => ({ engine, version: '1' })));

describe('the method of a tool', () => {
  it.each([
    ['the first, where its engine is there', [], model.id],
    ['the next, where it is not', [model.id], classical.id],
    ['the first, where the next is not there', [classical.id], model.id],
    ['none, where no engine is there', [model.id, classical.id], undefined],
  ] as const)('is %s', (_, missing, expected) => {
    expect(without(...missing).method(work)?.engine.id).toBe(expected);
  });
});

describe('the methods of a tool of the catalogue', () => {
  it.each([
    ['remove-background', ['matte-fine', 'matte-large', 'matte', 'retouch']],
    ['passport-photo', ['portrait-large', 'portrait']],
    ['speech-to-text', ['speech-turbo', 'speech-small', 'speech', 'dictation']],
  ])('%s are in the order of their results', (slug, ids) => {
    const found = tools.find((tool) => tool.slug === slug);
    const methods = found !== undefined && 'methods' in found.work ? found.work.methods : [];
    expect(methods.map(({ engine }) => engine.id)).toEqual(ids);
  });
});

describe('a method that takes long', () => {
  const slow: ByPlan = {
    ...work,
    methods: [
      { engine: model, plan, onRequest: true },
      { engine: classical, plan },
    ],
  };

  it('is taken where its engine is asked for by name, and never unasked', () => {
    expect(without().method(slow, {})?.engine.id).toBe(classical.id);
    expect(without().method(slow, { model: model.name })?.engine.id).toBe(model.id);
    expect(without().method(slow, { model: classical.name })?.engine.id).toBe(classical.id);
    expect(without(classical.id).method(slow)).toBeUndefined();
    expect(without(model.id).method(slow, { model: model.name })).toBeUndefined();
    expect(
      without()
        .methods(slow)
        .map(({ engine }) => engine.id),
    ).toEqual([classical.id, model.id]);
  });

  it('is listed behind the one that is taken unasked, as a value of the field that names it', () => {
    const fieldOf = (...missing: readonly string[]) => {
      const entry = describeTools(without(...missing)).find(({ slug }) => slug === 'upscale-image');
      return [entry?.engine, entry?.engines, entry?.options?.find(({ name }) => name === 'model')?.schema];
    };
    const names = ['classical', 'realesrgan-x4plus'];
    expect(fieldOf()).toEqual(['classical', names, expect.objectContaining({ enum: names, default: 'classical' })]);
    expect(fieldOf('enlarge')).toEqual(['classical', ['classical'], expect.objectContaining({ enum: ['classical'] })]);
  });
});

it('speech is written down by the program of the system where no model is installed', () => {
  const entryOf = (...missing: readonly string[]) => describeTools(without(...missing)).find(({ slug }) => slug === 'speech-to-text');
  const larger = ['speech-turbo', 'speech-small'];
  expect(entryOf(...larger)).toMatchObject({ engine: 'whisper-base', engines: ['whisper-base', 'pocketsphinx'] });
  expect(entryOf(...larger, 'speech')).toMatchObject({ engine: 'pocketsphinx', available: true });
});

it('a tool whose engine is missing is absent, and says which', () => {
  expect(without('qpdf').absent.get('merge-pdf')).toMatchObject({ reason: 'qpdf is not installed' });
  expect(without('qpdf').tools.has('merge-pdf')).toBe(false);
});

it('a tool that converts is absent where nothing reads what it accepts', () => {
  const { tools: callable, absent } = without('ffmpeg', 'subtitles');
  expect(absent.get('extract-audio-from-video')).toMatchObject({ reason: 'no engine that reads its formats is installed' });
  expect([callable.has('extract-audio-from-video'), callable.has('resize-image')]).toEqual([false, true]);
});

it('every tool is listed once, and those that nothing can run say why', () => {
  const slugs = listedTools.map(({ slug }) => slug);
  expect(new Set(slugs).size).toBe(slugs.length);
  expect(slugs.length).toBe(tools.length + absentTools.length);
  for (const { slug, reason } of absentTools) expect(reason, slug).not.toBe('');
});
