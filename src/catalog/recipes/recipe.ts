/** A recipe: conversions and tools, one after the other, as one job. Reads one as a client wrote it, and refuses what could never run, by step and field. */
import { z } from 'zod';
import { Failure } from '../../errors.ts';
import { MAX_FILES, MAX_PAGES } from '../bounds.ts';
import { meantName } from '../options/meant.ts';
import { formOptionNames, readOptions } from '../options/options.ts';
import { readInput } from '../tool.ts';
import { toolNamed } from '../tools.ts';

export const MAX_STEPS = 20;
/** Length of a recipe as JSON, bytes: it is stored in its job's record. */
export const MAX_RECIPE_BYTES = 6_144;
/** What was sent with the request. */
export const SENT_FILES = 'files';
/** What a step does that is no tool. */
export const TO_CONVERT = 'convert';

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,31}$/;
const name = z.string().regex(NAME);
const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** What a client writes. */
export const RecipeSchema = z.strictObject({
  steps: z
    .array(
      z.strictObject({
        name: name.describe('How later steps, `outputs` and errors call it: a letter, then at most 31 letters, digits, _ and -'),
        do: z.string().min(1).max(64).describe('`convert`, or the slug of a tool'),
        from: z
          .array(z.string().min(1).max(40))
          .min(1)
          .max(MAX_FILES)
          .optional()
          .describe(
            'What it reads: `files` is all that was sent, `files.0` the first of them; the name of an earlier step is all that it made, and `pages.0` the first of that. Unset: what the step before made, and `files` for the first step',
          ),
        options: z
          .record(z.string().max(64), scalar)
          .optional()
          .describe('As the form of the same route takes them; of `convert` also `to_format`'),
        max_files: z
          .number()
          .int()
          .min(1)
          .max(MAX_PAGES)
          .optional()
          .describe('The most files that it may make: with more, the job fails. Unset: as many as its sources may have pages'),
      }),
    )
    .min(1)
    .max(MAX_STEPS),
  outputs: z
    .array(name)
    .min(1)
    .max(MAX_STEPS)
    .optional()
    .describe('Names of the steps whose files are kept. Unset: those that no other step reads'),
});

/** A step as it is stored: every field is set, and options are text. */
export const StoredStep = z.strictObject({
  name: z.string(),
  do: z.string(),
  from: z.array(z.string()),
  options: z.record(z.string(), z.string()),
  max: z.number().int().optional(),
});
export type RecipeStep = Readonly<z.infer<typeof StoredStep>>;

export interface Recipe {
  readonly steps: readonly RecipeStep[];
  /** Names of steps, in the order of the answer. */
  readonly outputs: readonly string[];
}

/** What a step reads: everything that was made under a name, or one of it. */
export interface Reference {
  /** Number of the step; -1: the files that were sent. */
  readonly step: number;
  /** From 0 on; undefined: all. */
  readonly index: number | undefined;
}

/** @param sent JSON that was read @throws Failure `BAD_REQUEST`, `INVALID_OPTION`, `NOT_FOUND`: its details name step and field */
export function readRecipe(sent: unknown): Recipe {
  const read = RecipeSchema.safeParse(sent);
  if (!read.success) throw malformed(read.error.issues[0], sent);
  const names = read.data.steps.map((step) => step.name);
  const steps = read.data.steps.map(({ name, do: what, from, options = {}, max_files: max }, at): RecipeStep => {
    if (name === SENT_FILES || names.indexOf(name) !== at)
      throw refuseStep(
        name,
        'name',
        name,
        name === SENT_FILES ? 'another name: "files" are those that were sent' : 'a name that no other step has',
      );
    const step = {
      name,
      do: what,
      from: from ?? [names[at - 1] ?? SENT_FILES],
      options: Object.fromEntries(Object.entries(options).map(([option, value]) => [option, String(value)])),
      ...(max === undefined ? {} : { max }),
    };
    for (const reference of step.from) readReference(reference, names.slice(0, at), step.name, names);
    checkOptions(step);
    return step;
  });
  const { outputs = unread(steps) } = read.data;
  for (const [at, output] of outputs.entries())
    if (!names.includes(output) || outputs.indexOf(output) !== at)
      throw new Failure('BAD_REQUEST', {
        says: `The recipe's outputs name "${output}"; expected names of steps, each once: ${names.join(', ')}.`,
        details: { field: 'outputs', received: output, allowed: names.join(', ') },
      });
  const recipe = { steps, outputs };
  const bytes = Buffer.byteLength(JSON.stringify(recipe));
  if (bytes <= MAX_RECIPE_BYTES) return recipe;
  const says = `The recipe has ${bytes} bytes; at most ${MAX_RECIPE_BYTES} are accepted.`;
  throw new Failure('BAD_REQUEST', { says, details: { field: 'recipe', max_bytes: MAX_RECIPE_BYTES } });
}

/** What every step reads. @throws Failure `BAD_REQUEST` for names of no earlier step */
export const referencesOf = ({ steps }: Pick<Recipe, 'steps'>, at: number): readonly Reference[] => {
  const names = steps.map(({ name }) => name);
  return (steps[at]?.from ?? []).map((text) => readReference(text, names.slice(0, at), steps[at]?.name ?? '', names));
};

function readReference(text: string, earlier: readonly string[], step: string, all: readonly string[]): Reference {
  const [, from = '', index] = /^([A-Za-z][A-Za-z0-9_-]{0,31})(?:\.(\d{1,4}))?$/.exec(text) ?? [];
  const at = from === SENT_FILES ? -1 : earlier.indexOf(from);
  if (from !== SENT_FILES && at < 0) {
    const why =
      from === step ? 'a step cannot read itself' : all.includes(from) ? 'a step can only read earlier ones' : 'there is no such step';
    throw refuseStep(step, 'from', text, [SENT_FILES, `${SENT_FILES}.0`, ...earlier].join(', '), why);
  }
  return { step: at, index: index === undefined ? undefined : Number(index) };
}

/** Steps whose files no other step reads. */
function unread(steps: readonly RecipeStep[]): readonly string[] {
  const read = new Set(steps.flatMap(({ from }) => from.map((text) => text.replace(/\.\d+$/, ''))));
  return steps.map(({ name }) => name).filter((name) => !read.has(name));
}

/** The options of a conversion that a step may set beside the target: what names or holds files is `from`. */
const OWN_OPTIONS: readonly string[] = ['to_format'];

/** By the same parsers as the routes of the step. @throws Failure `INVALID_OPTION`, `NOT_FOUND` */
function checkOptions(step: RecipeStep): void {
  const tool = step.do === TO_CONVERT ? undefined : toolNamed(step.do);
  if (step.do !== TO_CONVERT && tool?.takesPage)
    throw refuseStep(step.name, 'do', step.do, 'a tool that reads files: this one reads a web page');
  const known =
    step.do === TO_CONVERT
      ? [...OWN_OPTIONS, ...formOptionNames]
      : [...Object.keys(tool?.input.shape ?? {}), ...Object.keys(tool?.aliases ?? {})];
  // A tool that is listed and absent is refused by its catalog, which knows why.
  if (step.do !== TO_CONVERT && tool === undefined) return;
  for (const option of Object.keys(step.options)) {
    if (known.includes(option)) continue;
    const meant = meantName(option, known);
    throw refuseStep(
      step.name,
      `options.${option}`,
      option,
      known.join(', '),
      `there is no such option${meant === undefined ? '' : `; did you mean ${meant}`}`,
    );
  }
  const fields = stepFields(step);
  inStep(step, 'options', () => (tool === undefined ? readOptions(fields) : readInput(tool, fields)));
}

export const stepFields = ({ options }: Pick<RecipeStep, 'options'>): ReadonlyMap<string, string> => new Map(Object.entries(options));

/** Runs `read`, and names the step in what it refuses. */
export function inStep<T>({ name }: Pick<RecipeStep, 'name'>, field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw namingStep(error, name, field);
  }
}

/** The same failure, said of a step. */
export function namingStep(error: unknown, step: string, field?: string): unknown {
  if (!(error instanceof Failure) || error.details['step'] !== undefined) return error;
  const option = error.details['option'];
  const where = field === 'options' && typeof option === 'string' ? `options.${option}` : field;
  return error.with({
    says: `Step "${step}": ${error.message}`,
    details: { ...error.details, step, ...(where === undefined ? {} : { field: where }) },
  });
}

export function refuseStep(step: string, field: string, received: string, allowed: string, why?: string): Failure {
  const shown = field === 'options.password' ? '(hidden)' : received.slice(0, 100);
  const says = `Step "${step}": ${field} is "${shown}"${why === undefined ? '' : `, but ${why}`}; expected ${allowed}.`;
  return new Failure('BAD_REQUEST', { says, details: { step, field, received: shown, allowed } });
}

/** Where a recipe has another shape than recipes have. */
function malformed(issue: z.core.$ZodIssue | undefined, sent: unknown): Failure {
  const [first, index, ...path] = issue?.path ?? [];
  const steps = (sent as { readonly steps?: unknown } | null)?.steps;
  const step =
    first === 'steps' && typeof index === 'number' && Array.isArray(steps)
      ? (steps[index] as { readonly name?: unknown } | null)
      : undefined;
  const called = typeof step?.name === 'string' && NAME.test(step.name) ? step.name : undefined;
  const known = issue?.code === 'unrecognized_keys' ? issue.keys.map((key) => key.slice(0, 64)).join(', ') : undefined;
  const field =
    step === undefined
      ? [first, index, ...path].filter((part) => part !== undefined).join('.') || 'recipe'
      : path.join('.') || (known ?? 'step');
  const where = step === undefined ? 'The recipe' : `Step ${called === undefined ? `number ${Number(index) + 1}` : `"${called}"`}`;
  const what = known === undefined ? (issue?.message ?? 'it is malformed') : `there is no field ${known}`;
  return new Failure('BAD_REQUEST', {
    says: `${where}: ${field}: ${what}.`,
    details: { ...(step === undefined ? {} : { step: called ?? String(Number(index) + 1) }), field },
  });
}
