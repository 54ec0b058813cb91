/** Settings of the page for browsers. */
import { z } from 'zod';

export const webSettings = z.strictObject({
  enabled: z.boolean().default(true).describe('Whether `/` is a page for people; if false, a browser that asks for `/` is sent to `/docs`'),
  sitemap: z
    .boolean()
    .default(false)
    .describe(
      'Whether search engines may list the page: `/sitemap.xml` names the start page, the tools and the conversions between common formats, and these are no longer sent with `X-Robots-Tag: noindex`',
    ),
});
