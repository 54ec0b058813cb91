/** From received files to the record of a recipe's job: validated whole before anything runs, and divided among pools. */
import { cleanName } from '../../catalog/names.ts';
import { planRecipe, type RecipePlan, type Unit } from '../../catalog/recipes/plan.ts';
import type { Recipe } from '../../catalog/recipes/recipe.ts';
import { stintsOf } from '../../catalog/recipes/stints.ts';
import { differing } from '../../catalog/sniff/differs.ts';
import { Failure } from '../../errors.ts';
import { newRecord } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { refuseLarge } from '../../jobs/room.ts';
import { choosePool } from '../../pools/registry.ts';
import { startingOr } from '../admission/starting.ts';
import type { ReceivedFile } from '../intake/receive.ts';
import { REFERENCE_FIELDS } from '../intake/references.ts';
import { noFile } from '../intake/refusals.ts';
import { unknownFields, type ValidationDeps } from '../submit/conversion.ts';
import type { Ids, SentFields, SubmitWork } from '../submit/stages.ts';
import { sentRecipe } from './sent.ts';
import type { NamedRecipe } from './settings.ts';

export interface RecipeOptions {
  /** Those of the operator, by name. */
  readonly named: Readonly<Record<string, NamedRecipe>>;
  readonly maxFiles: number;
  /** The client's key, whose share of each pool the job counts towards. */
  readonly client: string;
}

/** A recipe of more conversions than these lets others go first. */
const FEW = 4;

export function recipeWork(deps: ValidationDeps, { id }: Ids, options: RecipeOptions): SubmitWork {
  const check = (sent: SentFields) => {
    const { recipe, fields } = sentRecipe(sent.fields, options.named);
    const { count = 1 } = sent;
    if (count === 0) throw noFile({ ...sent }, 'files[]', `up to ${options.maxFiles}`);
    if (count > options.maxFiles) throw tooMany(options.maxFiles, count);
    const plan = planned(deps, recipe, Array<undefined>(count).fill(undefined));
    return { recipe, plan, warnings: unknownFields(sent.fields, [...fields, ...REFERENCE_FIELDS, 'file', 'files[]', 'files']) };
  };
  return {
    check,
    plan(brought) {
      const { recipe, plan, warnings } = check(brought);
      const { cost, tools } = plan;
      const lane = cost > FEW ? 'bulk' : 'interactive';
      const known = { lane, target: { format: 'unknown', extension: '' }, warnings } as const;
      return [
        {
          id,
          files: brought.files,
          known,
          cost,
          tools,
          validate: (files) => validateRecipe(deps, id, recipe, files, { lane, warnings, client: options.client }),
        },
      ];
    },
  };
}

/** For files that are here. @param sent the recipe as JSON @returns the record of the job @throws Failure as a request with it */
export async function recordOfRecipe(deps: ValidationDeps, id: string, sent: string, files: readonly ReceivedFile[]): Promise<JobRecord> {
  const { recipe } = sentRecipe(new Map([['recipe', sent]]), {});
  return validateRecipe(deps, id, recipe, files, { lane: 'interactive', warnings: [], client: '' });
}

const tooMany = (max: number, received: number): Failure =>
  new Failure('BATCH_TOO_LARGE', {
    says: `A recipe may have at most ${max} files; ${received} were sent.`,
    details: { max_files: max, received_files: received },
  });

/** @throws Failure as `planRecipe`; `OVERLOADED` where workers that could do it have yet to report */
function planned(deps: Pick<ValidationDeps, 'catalogue'>, recipe: Recipe, formats: readonly (string | undefined)[]): RecipePlan {
  try {
    return planRecipe(recipe, deps.catalogue.current, formats);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw startingOr(
      deps,
      (other) => {
        try {
          planRecipe(recipe, other, formats);
          return true;
        } catch {
          return false;
        }
      },
      error,
    );
  }
}

/** @returns the record of the job, not stored yet @throws Failure with step and field, `NO_FILE`, `UNSUPPORTED_MIME`, `OVERLOADED` */
async function validateRecipe(
  deps: ValidationDeps,
  id: string,
  sent: Recipe,
  files: readonly ReceivedFile[],
  { lane, warnings, client }: Pick<JobRecord, 'lane' | 'warnings'> & { readonly client: string },
): Promise<JobRecord> {
  const { encryption, clock } = deps.jobs;
  const formats: string[] = [];
  // One after the other: the client reads about the first file that is refused.
  for (const { sizeBytes, sample, filename } of files) {
    if (sizeBytes === 0) throw new Failure('NO_FILE', { says: 'A file is empty.' });
    formats.push(await deps.files.judge.sourceOf(sample, filename));
  }
  const { units, made } = planned(deps, sent, formats);
  const { recipe, passwords } = withoutPasswords(sent);
  const stints = stintsOf(recipe, units, poolOf(deps));
  const [first] = files;
  const [stint] = stints;
  if (first === undefined || stint === undefined) throw new Failure('NO_FILE');
  const format = made[recipe.steps.findIndex(({ name }) => name === recipe.outputs[0])]?.[0]?.format ?? 'unknown';
  return refuseLarge({
    ...newRecord(id, clock()),
    pool: stint.pool,
    lane,
    filename: cleanName(first.filename),
    sources: files.map(({ part, sizeBytes }, index) => ({ part, sizeBytes, format: formats[index] ?? '' })),
    target: { format, extension: format },
    options: {},
    recipe: {
      steps: recipe.steps.map((step) => ({ ...step, from: [...step.from] })),
      outputs: [...recipe.outputs],
      names: files.map(({ filename }) => cleanName(filename)),
      stints: stints.map(({ pool, runs }) => ({ pool, runs: runs.map(([step, of]): [number, string | null] => [step, of]) })),
      at: 0,
      client,
    },
    ...(Object.keys(passwords).length === 0 ? {} : { sealed: encryption.encrypt(JSON.stringify(passwords), id) }),
    warnings: [
      ...warnings,
      ...files.flatMap(({ filename, declaredType }, index) => differing(formats[index] ?? '', filename, declaredType)),
    ].slice(0, 4),
  });
}

/** Passwords are stored encrypted, apart from the steps. */
function withoutPasswords(recipe: Recipe): { readonly recipe: Recipe; readonly passwords: Readonly<Record<string, string>> } {
  const passwords = Object.fromEntries(
    recipe.steps.flatMap(({ name, options: { password } }) =>
      password === undefined || password === '' ? [] : [[name, password] as const],
    ),
  );
  const steps = recipe.steps.map((step) => {
    const { password: _, ...options } = step.options;
    return { ...step, options };
  });
  return { recipe: { ...recipe, steps }, passwords };
}

/** The pool that has begun, where it has what the next step needs; otherwise the best. @throws Failure `OVERLOADED` */
function poolOf({ catalogue: { pools } }: Pick<ValidationDeps, 'catalogue'>) {
  return ({ toolchains, needs }: Unit, named: string | undefined): string => {
    const pool = named === undefined ? undefined : pools.get(named);
    const isAble =
      pool !== undefined && !pool.paused && toolchains.includes(pool.toolchain) && needs.every((engine) => pool.engines.has(engine));
    return isAble ? pool.name : choosePool(pools, toolchains, needs);
  };
}
