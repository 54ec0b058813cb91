/** A tool with its own plan has engines in order of preference, such as a model before a classical method. */
import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../src/catalog/catalog.ts';
import { engine as model } from '../../src/catalog/engines/ffmpeg.ts';
import { engine as classical } from '../../src/catalog/engines/qpdf.ts';
import { engines } from '../../src/catalog/engines.gen.ts';
import type { ByPlan } from '../../src/catalog/tool.ts';
import { absentTools, listedTools, tools } from '../../src/catalog/tools.ts';

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

it('a tool whose engine is missing is absent, and says which', () => {
  expect(without('qpdf').absent.get('merge-pdf')).toMatchObject({ reason: 'qpdf is not installed' });
  expect(without('qpdf').tools.has('merge-pdf')).toBe(false);
});

it('a tool that converts is absent where nothing reads what it accepts', () => {
  const { tools: callable, absent } = without('ffmpeg', 'subtitles');
  expect(absent.get('extract-audio-from-video')).toMatchObject({ reason: 'nothing that reads its formats is installed' });
  expect([callable.has('extract-audio-from-video'), callable.has('resize-image')]).toEqual([false, true]);
});

it('every tool is listed once, and those that nothing can run say why', () => {
  const slugs = listedTools.map(({ slug }) => slug);
  expect(new Set(slugs).size).toBe(slugs.length);
  expect(slugs.length).toBe(tools.length + absentTools.length);
  for (const { slug, reason } of absentTools) expect(reason, slug).not.toBe('');
});
