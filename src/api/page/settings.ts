/** Settings of the page for browsers. */
import { z } from 'zod';

export const webSettings = z.strictObject({
  enabled: z.boolean().default(true).describe('Whether `/` is a page for people; if false, a browser that asks for `/` is sent to `/docs`'),
});
