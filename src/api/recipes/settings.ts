/** Recipes that an operator has named: clients run them by name, and change only what the operator lets them. */
import { z } from 'zod';
import { RecipeSchema, readRecipe } from '../../catalog/recipes/recipe.ts';
import { Failure } from '../../errors.ts';

const NamedRecipe = RecipeSchema.extend({
  may_change: z
    .array(z.string().max(100))
    .max(100)
    .default([])
    .describe('Options that clients may set, by step and option, as in `cover.pages`; all others are fixed'),
}).superRefine(({ may_change, ...recipe }, context) => {
  try {
    const { steps } = readRecipe(recipe);
    for (const [at, option] of may_change.entries()) {
      const [step = '', name = ''] = option.split('.', 2);
      if (!steps.some((each) => each.name === step) || name === '')
        context.addIssue({ code: 'custom', path: ['may_change', at], message: 'the name of a step, a dot and an option' });
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // The value at this path is shown: a whole recipe may hold a password.
    const { step, field = 'steps' } = error.details;
    const at = recipe.steps.findIndex(({ name }) => name === step);
    context.addIssue({ code: 'custom', path: [...(at < 0 ? [] : ['steps', at]), ...String(field).split('.')], message: error.message });
  }
});
export type NamedRecipe = z.infer<typeof NamedRecipe>;

export const recipeSettings = z
  .record(z.string().regex(/^[a-z][a-z0-9-]{0,62}$/), NamedRecipe)
  .describe('Recipes that clients run by name (`recipe=invoice`), each with `steps`, `outputs` and `may_change`: docs/recipes.md');
