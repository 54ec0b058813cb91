/** What a recipe will do, before a file is read: which formats follow one another, how many conversions it may come to, and which engines they need. Pure. */
import { Failure } from '../../errors.ts';
import { MAX_PAGES } from '../bounds.ts';
import type { Catalog } from '../catalog.ts';
import { formatByExtension, formatOf } from '../formats.ts';
import { isForModel } from '../listed-tool.ts';
import { askedOptions } from '../options/defaults.ts';
import { type OptionName, type Options, readOptions } from '../options/options.ts';
import { enginesOf, ignoredOptions } from '../route.ts';
import { readInput, type Tool } from '../tool.ts';
import {
  inStep,
  type Recipe,
  type RecipeStep,
  type Reference,
  referencesOf,
  refuseStep,
  SENT_FILES,
  stepFields,
  TO_CONVERT,
} from './recipe.ts';

/** Conversions that one step could come to: each page of the longest document. */
const MAX_RUNS_OF_STEP = 2_500;
/** Conversions of all steps that are run: no more is begun. */
export const MAX_RUNS = 5_000;

/** Files of one format, made or sent. */
export interface Group {
  /** Canonical id; undefined where it is not known before the files are here. */
  readonly format: string | undefined;
  /** How many there are, at least and at most. */
  readonly least: number;
  readonly most: number;
  /** The same with each frame of pictures, and each page of what is not known yet: what limits of tools count. */
  readonly ceiling: number;
}

const ONE = { least: 1, most: 1, ceiling: 1 };

/** The part of a step that is done with inputs of one format: the least that a pool is chosen for. */
export interface Unit {
  /** Number of the step. */
  readonly step: number;
  /** Undefined: one run takes all inputs of the step together. */
  readonly format: string | undefined;
  /** Any of which has what it needs, in order of preference. */
  readonly toolchains: readonly string[];
  /** Ids of the engines. */
  readonly needs: readonly string[];
}

export interface RecipePlan {
  /** In an order in which they can be done; none of steps whose formats are not known yet. */
  readonly units: readonly Unit[];
  /** What each step makes. */
  readonly made: readonly (readonly Group[])[];
  /** Conversions that it comes to at least: what it costs. */
  readonly cost: number;
  /** Slugs of its tools, one for each run that it could come to: of those with their own daily limit none runs that was not counted. */
  readonly tools: readonly string[];
}

type Known = Pick<Catalog, 'tools' | 'absent' | 'route' | 'targets' | 'method' | 'methods'>;

/**
 * @param sources formats of the files that were sent; undefined where not known yet
 * @throws Failure with step and field: `BAD_REQUEST`, `INVALID_FORMAT`, `UNSUPPORTED_MIME`, `NOT_IMPLEMENTED`, `INVALID_OPTION`
 */
export function planRecipe(recipe: Recipe, catalog: Known, sources: readonly (string | undefined)[]): RecipePlan {
  const sent = filesIn(sources.map((format) => ({ format, ...ONE })));
  const made: Files[] = [];
  const units: Unit[] = [];
  const tools: string[] = [];
  let cost = 0;
  for (const [at, step] of recipe.steps.entries()) {
    const tool = toolOf(catalog, step);
    const references = referencesOf(recipe, at);
    const inputs = merged(
      references.flatMap((reference) =>
        groupsOf(reference, step, reference.step < 0 ? sent : (made[reference.step] ?? filesIn([])), recipe),
      ),
    );
    refuseFormats(step, tool, inputs, references);
    const together = tool !== undefined && takesAll(tool);
    if (together) refuseCount(step, tool, inputs);
    const least = together ? 1 : sum(inputs, 'least');
    const most = together ? 1 : sum(inputs, 'most');
    if (most > MAX_RUNS_OF_STEP) throw tooMuch(step, most);
    cost += least;
    if (cost > MAX_RUNS) throw tooMuchInAll(step, cost);
    if (tool !== undefined) tools.push(...Array<string>(together ? 1 : Math.min(sum(inputs, 'ceiling'), MAX_RUNS)).fill(tool.slug));
    const work = workOf(catalog, at, step, tool);
    const makes = makingOf(step, tool);
    if (together) {
      const formats = formatsOf(inputs);
      const { unit, target } = work(formats);
      if (unit !== undefined) units.push(unit);
      const all = { most: sum(inputs, 'most'), ceiling: sum(inputs, 'ceiling') };
      made.push(filesIn([{ format: target, least: 1, ...makes(all, formats?.[0], target) }]));
      continue;
    }
    // Once for each format, however many files have it.
    const ways = new Map(
      [...new Set(inputs.map(({ format }) => format))].map((format) => [format, work(format === undefined ? undefined : [format])]),
    );
    units.push(...[...ways.values()].flatMap(({ unit }) => unit ?? []));
    made.push(
      filesIn(
        inputs.map((group) => {
          const target = ways.get(group.format)?.target;
          return { format: target, least: group.least, ...makes(group, group.format, target) };
        }),
      ),
    );
  }
  return { units, made: made.map(({ groups }) => groups), cost, tools };
}

/** Whether one run takes all that the step reads: otherwise each file is a run. */
export const takesAll = ({ files }: Pick<Tool, 'files'>): boolean => files.max > 1;

/** @throws Failure `BAD_REQUEST`, `NOT_IMPLEMENTED` */
function toolOf({ tools, absent }: Known, { name, do: slug }: RecipeStep): Tool | undefined {
  if (slug === TO_CONVERT) return undefined;
  const tool = tools.get(slug);
  if (tool !== undefined) return tool;
  const reason = absent.get(slug)?.reason;
  if (reason === undefined) throw refuseStep(name, 'do', slug, `"${TO_CONVERT}", or a tool that GET /api/v1/tools lists`);
  const says = `Step "${name}": the tool ${slug} is not available on this server: ${reason}.`;
  throw new Failure('NOT_IMPLEMENTED', {
    says,
    details: { step: name, field: 'do', slug, reason: isForModel(reason) ? 'model_not_installed' : reason },
  });
}

/** What was sent, or what a step makes. */
interface Files {
  readonly groups: readonly Group[];
  readonly most: number;
  /** Each once. */
  readonly formats: readonly Group['format'][];
  /** Their number is known before. */
  readonly isExact: boolean;
}

/** @param groups in the order of the files */
const filesIn = (groups: readonly Group[]): Files => ({
  groups: merged(groups),
  most: sum(groups, 'most'),
  formats: [...new Set(groups.map(({ format }) => format))],
  isExact: groups.every(({ least, most }) => least === most),
});

/** What a reference stands for. @throws Failure `BAD_REQUEST` where there are not so many */
function groupsOf({ step: from, index }: Reference, step: RecipeStep, files: Files, { steps }: Recipe): readonly Group[] {
  const { groups, most, formats, isExact } = files;
  if (index === undefined) return groups;
  const name = from < 0 ? SENT_FILES : (steps[from]?.name ?? '');
  if (index >= most) {
    const has = from < 0 ? `${most === 1 ? 'one file was' : `${most} files were`} sent` : `"${name}" makes at most ${most}`;
    throw refuseStep(step.name, 'from', `${name}.${index}`, most === 1 ? `${name}.0` : `${name}.0 to ${name}.${most - 1}`, has);
  }
  if (formats.length === 1) return [{ format: formats[0], ...ONE }];
  const own = isExact ? groupAt(groups, index) : undefined;
  if (own !== undefined) return [{ ...own, ...ONE }];
  throw refuseStep(step.name, 'from', `${name}.${index}`, name, `which of its files that is, and of which format, is not known before`);
}

/** That of the file with this number. */
function groupAt(groups: readonly Group[], index: number): Group | undefined {
  let before = 0;
  for (const group of groups) {
    before += group.most;
    if (before > index) return group;
  }
  return undefined;
}

/** @throws Failure `UNSUPPORTED_MIME`, `INVALID_FORMAT` */
function refuseFormats({ name }: RecipeStep, tool: Tool | undefined, inputs: readonly Group[], references: readonly Reference[]): void {
  if (tool === undefined) return;
  const wrong = inputs.find(({ format }) => format !== undefined && !tool.accepts.includes(format))?.format;
  if (wrong === undefined) return;
  const says = `Step "${name}": the tool ${tool.slug} does not accept a ${wrong} file; it accepts: ${tool.accepts.join(', ')}.`;
  const isSent = references.every(({ step }) => step < 0);
  throw new Failure(isSent ? 'UNSUPPORTED_MIME' : 'INVALID_FORMAT', {
    says,
    details: {
      step: name,
      field: 'from',
      ...(isSent ? { detected: formatOf(wrong).mime, accepted: tool.accepts } : { from: wrong, targets: [] }),
    },
  });
}

/** @throws Failure `BAD_REQUEST`, `BATCH_TOO_LARGE` */
function refuseCount({ name }: RecipeStep, { slug, files: { min, max } }: Tool, inputs: readonly Group[]): void {
  const [least, most] = [sum(inputs, 'least'), sum(inputs, 'most')];
  if (least <= max && most >= min) return;
  const received = least > max ? least : most;
  throw new Failure(least > max ? 'BATCH_TOO_LARGE' : 'BAD_REQUEST', {
    says: `Step "${name}": the tool ${slug} takes ${min} to ${max} files; it would get ${received}.`,
    details: { step: name, field: 'from', min_files: min, max_files: max, received_files: received },
  });
}

const tooMuch = ({ name }: RecipeStep, runs: number): Failure =>
  new Failure('BATCH_TOO_LARGE', {
    says: `Step "${name}": it could come to ${runs} conversions, and at most ${MAX_RUNS_OF_STEP} are accepted: send fewer files, or set "max_files" of the steps that make many.`,
    details: { step: name, field: 'from', max_files: MAX_RUNS_OF_STEP, received_files: runs },
  });

const tooMuchInAll = ({ name }: RecipeStep, runs: number): Failure =>
  new Failure('BATCH_TOO_LARGE', {
    says: `Step "${name}": with it the recipe comes to ${runs} conversions at least, and at most ${MAX_RUNS} are accepted: send fewer files, or leave steps out.`,
    details: { step: name, field: 'from', max_files: MAX_RUNS, received_files: runs },
  });

interface Way {
  readonly unit: Unit | undefined;
  readonly target: string | undefined;
}

/** @returns finds what the step does with these inputs; undefined for formats that are not known yet */
function workOf(catalog: Known, at: number, step: RecipeStep, tool: Tool | undefined): (formats: readonly string[] | undefined) => Way {
  const fields = stepFields(step);
  if (tool === undefined) {
    const options = inStep(step, 'options', () => readOptions(fields));
    const target = targetOf(step);
    return (formats) =>
      formats === undefined
        ? { unit: undefined, target }
        : { target, unit: byRoute(catalog, at, step, formats, target, options, askedOptions(options)) };
  }
  const input = inStep(step, 'options', () => readInput(tool, fields));
  const { work } = tool;
  if ('convert' in work)
    return (formats) => {
      if (formats === undefined) return { unit: undefined, target: onlyTarget(tool, input) };
      const { target, options } = work.convert(formats[0] ?? '', input);
      const given = (Object.keys(options) as OptionName[]).filter((name) => options[name] !== undefined);
      return { target, unit: byRoute(catalog, at, step, formats, target, options, given, tool) };
    };
  const method = catalog.method(work, input);
  if (method === undefined) {
    const here = catalog.methods(work).map(({ engine }) => engine.name);
    throw refuseStep(step.name, 'options.model', String(input['model']), here.join(' or '), 'it is not available here');
  }
  const { engine } = method;
  return (formats) => {
    if (formats === undefined) return { unit: undefined, target: tool.accepts.length === 1 ? work.target(tool.accepts, input) : undefined };
    const target = inStep(step, 'from', () => work.target(formats, input));
    return {
      target,
      unit: { step: at, format: takesAll(tool) ? undefined : formats[0], toolchains: engine.toolchains, needs: [engine.id] },
    };
  };
}

/** By the engines of a route. @throws Failure `INVALID_FORMAT`, `NOT_IMPLEMENTED`, `INVALID_OPTION` */
function byRoute(
  catalog: Known,
  at: number,
  step: RecipeStep,
  [source = '']: readonly string[],
  target: string,
  options: Options,
  given: readonly OptionName[],
  tool?: Tool,
): Unit {
  const route = catalog.route(source, target, given);
  if (route === undefined && tool === undefined) {
    const targets = catalog.targets(source);
    const says = `Step "${step.name}": a ${formatOf(source).id} file cannot be converted to ${target}${targets.length === 0 ? ' by this installation' : ''}.`;
    throw new Failure('INVALID_FORMAT', {
      says,
      details: { step: step.name, field: 'options.to_format', from: source, to_format: target, targets },
    });
  }
  // Without an engine that honours the options, a tool would return the file unchanged.
  if (route === undefined || (tool !== undefined && ignoredOptions(route, given).length > 0))
    throw new Failure('NOT_IMPLEMENTED', {
      says: `Step "${step.name}": the engine that the tool ${step.do} needs for a ${source} file is not installed.`,
      details: { step: step.name, field: 'do', slug: step.do, reason: 'engine_missing' },
    });
  for (const hop of route.hops) inStep(step, 'options', () => hop.engine.refuse?.(hop.source, hop.target, options));
  return { step: at, format: source, toolchains: [route.toolchain], needs: enginesOf(route) };
}

/** The target of a conversion. @throws Failure `INVALID_FORMAT` */
export function targetOf(step: RecipeStep): string {
  const sent = step.options['to_format']?.trim().toLowerCase().replace(/^\./, '') ?? '';
  const format = formatByExtension(sent.slice(0, 16));
  if (format !== undefined) return format.id;
  const says = `Step "${step.name}": options.to_format ${sent === '' ? 'is missing' : `is "${sent.slice(0, 16)}"`}; expected the extension of a format, as in "png".`;
  throw new Failure('INVALID_FORMAT', {
    says,
    details: { step: step.name, field: 'options.to_format', to_format: sent.slice(0, 16), targets: [] },
  });
}

/** What a tool makes of any file, where that is the same for all. */
function onlyTarget({ accepts, work }: Tool, input: Readonly<Record<string, unknown>>): string | undefined {
  if (!('convert' in work)) return undefined;
  const targets = new Set(accepts.map((source) => work.convert(source, input).target));
  return targets.size === 1 ? [...targets][0] : undefined;
}

type Most = Pick<Group, 'most' | 'ceiling'>;

/** @returns how many files come of so many of one format: a document may become a file for each of its pages */
function makingOf(
  step: RecipeStep,
  tool: Tool | undefined,
): (inputs: Most, source: string | undefined, target: string | undefined) => Most {
  const pages = pagesAsked(step);
  const of = (inputs: number, isSplit: boolean): number => {
    const all = (tool !== undefined && takesAll(tool) && !isSplit ? 1 : inputs) * (isSplit ? pages : 1);
    return Math.min(all, step.max ?? all);
  };
  return ({ most, ceiling }, source, target) => {
    const isAlways = tool?.alwaysZip === true;
    const toOne = target !== undefined && formatOf(target).holds === 'one';
    return {
      most: of(most, isAlways || (toOne && mayHoldMany(source))),
      ceiling: of(ceiling, isAlways || (toOne && (source === undefined || formatOf(source).holds === 'many'))),
    };
  };
}

/** Pictures with many frames are few, and are counted as they are found: a hundred photos that become others must not count as a hundred albums. */
const mayHoldMany = (source: string | undefined): boolean =>
  source !== undefined && formatOf(source).holds === 'many' && formatOf(source).family !== 'image';

function pagesAsked(step: RecipeStep): number {
  const { pages } = step.do === TO_CONVERT ? readOptions(stepFields(step)) : {};
  if (pages === undefined) return MAX_PAGES;
  return Math.min(
    MAX_PAGES,
    pages.reduce((all, [first, last]) => all + last - first + 1, 0),
  );
}

/** For a tool that takes all: one for each file; two where there may be more. */
const formatsOf = (groups: readonly Group[]): readonly string[] | undefined =>
  groups.some(({ format }) => format === undefined)
    ? undefined
    : groups.flatMap(({ format, least, most }) => Array<string>(Math.max(least, Math.min(most, 2))).fill(format ?? ''));

const sum = (groups: readonly Group[], what: 'least' | 'most' | 'ceiling'): number => groups.reduce((all, group) => all + group[what], 0);

/** Neighbours of one format as one group: the order of the files is that of the groups. */
function merged(groups: readonly Group[]): readonly Group[] {
  const all: Group[] = [];
  for (const group of groups) {
    const last = all.at(-1);
    if (last === undefined || last.format !== group.format) all.push(group);
    else
      all.splice(-1, 1, {
        ...last,
        least: sum([last, group], 'least'),
        most: sum([last, group], 'most'),
        ceiling: sum([last, group], 'ceiling'),
      });
  }
  return all;
}
