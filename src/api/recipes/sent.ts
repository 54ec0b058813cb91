/** The recipe of a request: written out in its field, or the name of one that the operator has configured, with the options that it lets clients change. */
import { meantName } from '../../catalog/options/meant.ts';
import { type Recipe, readRecipe } from '../../catalog/recipes/recipe.ts';
import { Failure } from '../../errors.ts';
import { parseWithin } from '../http/json-budget.ts';
import type { NamedRecipe } from './settings.ts';

/** Length of the field, bytes. */
const MOST_BYTES = 16 * 1024;
/** A field that changes an option of a named recipe: `cover.pages`. */
const CHANGE = /^[A-Za-z][A-Za-z0-9_-]{0,31}\.[a-z][a-z0-9_]{0,63}$/;

export interface SentRecipe {
  readonly recipe: Recipe;
  /** Fields of the form that belong to it. */
  readonly fields: readonly string[];
}

/** @throws Failure `BAD_REQUEST`, `INVALID_OPTION`, `NOT_FOUND` */
export function sentRecipe(fields: ReadonlyMap<string, string>, named: Readonly<Record<string, NamedRecipe>>): SentRecipe {
  const sent = fields.get('recipe')?.trim() ?? '';
  const changes = [...fields].filter(([name, value]) => CHANGE.test(name) && value !== '');
  if (sent === '') throw refused('is missing', named);
  if (!sent.startsWith('{'))
    return { recipe: readRecipe(changed(sent, changes, named)), fields: ['recipe', ...changes.map(([name]) => name)] };
  const [first] = changes;
  if (first !== undefined) throw refusedChange(first, [], 'a recipe that is sent has its options in its steps');
  let read: unknown;
  try {
    read = parseWithin(sent, MOST_BYTES);
  } catch (error) {
    throw error instanceof SyntaxError ? refused('is no JSON', named) : error;
  }
  return { recipe: readRecipe(read), fields: ['recipe'] };
}

/** @throws Failure `NOT_FOUND`, `BAD_REQUEST` */
function changed(name: string, changes: readonly (readonly [string, string])[], named: Readonly<Record<string, NamedRecipe>>): unknown {
  const found = Object.hasOwn(named, name) ? named[name] : undefined;
  if (found === undefined) throw refused(`is "${name.slice(0, 64)}"`, named, name);
  const { may_change: allowed, steps, outputs } = found;
  const forbidden = changes.find(([change]) => !allowed.includes(change));
  if (forbidden !== undefined) throw refusedChange(forbidden, allowed, `the recipe ${name} does not let clients change it`);
  const given = new Map(changes);
  return {
    steps: steps.map((step) => {
      const mine = [...given].flatMap(([change, value]) =>
        change.startsWith(`${step.name}.`) ? [[change.slice(step.name.length + 1), value] as const] : [],
      );
      return { ...step, options: { ...step.options, ...Object.fromEntries(mine) } };
    }),
    ...(outputs === undefined ? {} : { outputs }),
  };
}

function refusedChange([field, value]: readonly [string, string], allowed: readonly string[], why: string): Failure {
  const details = {
    field: field.slice(0, 100),
    received: field.endsWith('.password') ? '(hidden)' : value.slice(0, 100),
    allowed: allowed.join(', '),
  };
  return new Failure('BAD_REQUEST', { says: `The field "${field.slice(0, 100)}" has no effect: ${why}.`, details });
}

function refused(has: string, named: Readonly<Record<string, NamedRecipe>>, name?: string): Failure {
  const known = Object.keys(named);
  const meant = name === undefined ? undefined : meantName(name, known);
  const expected = `a recipe as JSON${known.length === 0 ? '' : `, or the name of one: ${known.join(', ')}`}`;
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return new Failure('BAD_REQUEST', {
    says: `The field "recipe" ${has}; expected ${expected}.${hint}`,
    details: { field: 'recipe', allowed: expected },
  });
}
