/** What `GET /api/v1/recipes` answers: the recipes that the operator has named. */
import { z } from 'zod';

export const RecipeList = z.object({
  recipes: z.array(
    z.object({
      name: z.string().describe('What the field `recipe` takes'),
      steps: z.array(z.object({ name: z.string(), do: z.string().describe('`convert`, or the slug of a tool') })),
      may_change: z.array(z.string()).describe('Fields that the request may have, each an option of a step, as in `cover.pages`'),
    }),
  ),
});
