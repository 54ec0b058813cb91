/** Messages at the ends of jobs, as each process with the API sends them. */
import type { ApiDeps } from '../../api/deps.ts';
import { baseUrl } from '../../api/http/base-url.ts';
import { bodyOf } from '../../api/jobs/send.ts';
import type { Sender } from '../../fetch/send.ts';
import { type Deliverer, startDeliverer } from '../../webhooks/deliverer.ts';
import type { WebhookSettings } from '../../webhooks/settings.ts';
import { signingKeys } from '../../webhooks/signing.ts';

export interface Webhooks extends Pick<Deliverer, 'offer' | 'stop'> {
  /** For the API. */
  readonly api: NonNullable<ApiDeps['webhooks']>;
}

interface WebhooksDeps extends Omit<ApiDeps, 'webhooks' | 'destinations' | 'limits'> {
  /** Undefined where nothing is fetched. */
  readonly sender: Sender | undefined;
  readonly settings: WebhookSettings;
  readonly aloneSince?: number;
}

/** @returns undefined where the operator wants none, or nothing is fetched by URL */
export function webhooksFor({ sender, settings, aloneSince, ...deps }: WebhooksDeps): Webhooks | undefined {
  if (!settings.enabled || sender === undefined) return undefined;
  const { jobs, telemetry, service } = deps;
  const keys = signingKeys(jobs.encryption);
  const { follow, offer, stop } = startDeliverer({
    jobs: jobs.store,
    durability: jobs.durability,
    encryption: jobs.encryption,
    sender,
    keys,
    body: (record, base, requestId) => bodyOf(deps, base ?? baseUrl(service.settings, undefined, service.settings.port), requestId, record),
    settings,
    clock: jobs.clock,
    aloneSince,
    log: telemetry.log,
    onAttempt: telemetry.metrics.webhookSent,
  });
  return { api: { judge: sender.judge, publicKeys: keys.publicKeys, follow }, offer, stop };
}
