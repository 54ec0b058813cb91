/** A file that was sent before it is needed. */
import { z } from 'zod';

export const uploadIdPattern = /^upl_[0-9a-f]{32}$/;

export const Upload = z.object({
  upload_id: z.string().regex(uploadIdPattern).describe('The value for `upload_id` and `upload_ids[]`; a bearer secret'),
  status: z.enum(['uploading', 'finished']),
  filename: z.string(),
  size_bytes: z.number().int().min(0),
  received_bytes: z.number().int().min(0),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().describe('When the upload is removed: 1 h after the last byte arrived, or 2 h after it was finished'),
  links: z.object({ self: z.url().describe('URL at which tus continues') }),
});
