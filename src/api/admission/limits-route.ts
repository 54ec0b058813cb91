/** `GET /api/v1/limits`: what the caller has used, what is left, and how large its files may be. */
import type { FastifyInstance } from 'fastify';
import { MOST_IDS } from '../../contracts/api/job-list.ts';
import type { LimitShare } from '../../limits/answers/usage.ts';
import type { ApiDeps } from '../deps.ts';
import { clientOf } from './admission.ts';

export function limitsRoute(app: FastifyInstance, deps: Pick<ApiDeps, 'files' | 'limits' | 'service'>): void {
  app.get('/api/v1/limits', { config: { costs: 'nothing' } }, async (request) => {
    const client = clientOf(deps, request);
    const usage = await deps.limits.limiter.usage(client);
    const { maxFileBytes, maxBatchFiles } = deps.service.settings;
    const room = deps.files.uploads.roomFor(client.multiple);
    const { banExpiresAt, rejectionsLastHour, daily, hourly, cooldown, mcp, ai } = usage;
    return {
      data: {
        enabled: usage.enforced,
        client: client.network,
        banned: banExpiresAt !== undefined,
        ban_expires_at: banExpiresAt === undefined ? null : new Date(banExpiresAt).toISOString(),
        rejections_last_hour: rejectionsLastHour,
        tiers: {
          ...Object.fromEntries(Object.entries({ daily, hourly, cooldown, mcp }).map(([tier, share]) => [tier, shown(share)])),
          ai: Object.fromEntries(Object.entries(ai).map(([slug, share]) => [slug, shown(share)])),
        },
        jobs: { max_ids: MOST_IDS },
        files: {
          max_bytes: maxFileBytes,
          max_batch_files: maxBatchFiles,
          max_uploads: room?.uploads ?? null,
          max_upload_bytes: room?.bytes ?? null,
        },
      },
    };
  });
}

const shown = ({ limit, used, remaining, resetSeconds }: LimitShare) => ({ limit, used, remaining, reset_seconds: resetSeconds });
