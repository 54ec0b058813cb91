/** The message that a request wants at the end of each of its jobs: its fields, which are taken out before the others are read. */
import { Failure } from '../../../errors.ts';
import type { JobRecord } from '../../../jobs/record.ts';
import { refuseLarge } from '../../../jobs/room.ts';
import { newWebhook } from '../../../jobs/webhook.ts';
import type { ApiDeps } from '../../deps.ts';
import { WEBHOOK_SECRET, WEBHOOK_URL } from '../../intake/receive.ts';
import type { Admitted, FilePart, JobPlan, SentFields, SubmitWork } from '../stages.ts';
import { refuseOwn } from './own.ts';

export const WEBHOOK_FIELDS: readonly string[] = [WEBHOOK_URL, WEBHOOK_SECRET];

/** Characters: a record has to have room for it, encrypted. */
const MOST_URL = 2_048;
/** Length of a client's own secret (Standard Webhooks 1.0, "Signature scheme"), bytes. */
const SECRET_BYTES = { min: 24, max: 64 };

type WebhookDeps = Pick<ApiDeps, 'jobs' | 'webhooks' | 'service'>;

interface WantedWebhook {
  readonly url: string;
  readonly secret?: string;
}

/** @returns undefined where none is wanted @throws Failure `INVALID_OPTION`: what was sent may be secret, and is not repeated */
function readWebhook({ webhooks }: Pick<ApiDeps, 'webhooks'>, fields: SentFields['fields']): WantedWebhook | undefined {
  const [url, secret] = WEBHOOK_FIELDS.map((name) => fields.get(name)?.trim() || undefined);
  if (url === undefined && secret === undefined) return undefined;
  if (webhooks === undefined) throw refused(WEBHOOK_URL, 'nothing: this service sends no webhooks');
  if (url === undefined) throw refused(WEBHOOK_SECRET, `it together with ${WEBHOOK_URL}`);
  if (url.length > MOST_URL) throw refused(WEBHOOK_URL, `a URL of at most ${MOST_URL} characters`);
  if (secret === undefined) return { url };
  if (!isSecret(secret)) {
    const { min, max } = SECRET_BYTES;
    throw refused(WEBHOOK_SECRET, `"whsec_" and ${min} to ${max} bytes in base64`);
  }
  return { url, secret };
}

const refused = (option: string, allowed: string): Failure =>
  new Failure('INVALID_OPTION', {
    says: `The field "${option}" is invalid; expected ${allowed}.`,
    details: { option, received: null, allowed },
  });

function isSecret(secret: string): boolean {
  const [, base64] = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/.exec(secret.slice(0, 200)) ?? [];
  const bytes = Buffer.from(base64 ?? '', 'base64').length;
  return bytes >= SECRET_BYTES.min && bytes <= SECRET_BYTES.max;
}

export const wantsWebhook = (fields: SentFields['fields']): boolean => WEBHOOK_FIELDS.some((name) => (fields.get(name) ?? '') !== '');

/** Before a file is fetched. @throws Failure `INVALID_OPTION`, `URL_REFUSED` with `details.field` */
export async function judgeWebhook(deps: WebhookDeps, fields: SentFields['fields'], { base }: Pick<Admitted, 'base'>): Promise<void> {
  const wanted = readWebhook(deps, fields);
  if (wanted === undefined) return;
  try {
    refuseOwn(deps, wanted.url, base);
    await deps.webhooks?.judge(wanted.url, deps.service.stopping);
  } catch (error) {
    throw error instanceof Failure
      ? error.with({ says: `The field "${WEBHOOK_URL}": ${error.message}`, details: { ...error.details, field: WEBHOOK_URL } })
      : error;
  }
}

/** The same work, whose jobs have the message in their records. */
export function workWithWebhook(deps: WebhookDeps, work: SubmitWork, { client, base }: Pick<Admitted, 'client' | 'base'>): SubmitWork {
  const others = (fields: SentFields['fields']) => new Map([...fields].filter(([name]) => !WEBHOOK_FIELDS.includes(name)));
  const withWebhook =
    (wanted: WantedWebhook) =>
    <F extends FilePart>(plan: JobPlan<F>): JobPlan<F> => {
      const target = { ...wanted, ...(base === undefined ? {} : { base }), client };
      const webhook = newWebhook(deps.jobs.encryption, plan.id, `msg_${deps.service.newId()}`, target);
      return {
        ...plan,
        known: { ...plan.known, webhook },
        validate: async (files) => refuseLarge({ ...(await plan.validate(files)), webhook }),
      };
    };
  return {
    check(sent) {
      readWebhook(deps, sent.fields);
      work.check({ ...sent, fields: others(sent.fields) });
    },
    plan(brought) {
      const wanted = readWebhook(deps, brought.fields);
      const plans = work.plan({ ...brought, fields: others(brought.fields) });
      return wanted === undefined ? plans : plans.map(withWebhook(wanted));
    },
  };
}

/** The jobs that were created here. */
export function followWebhooks({ webhooks }: Pick<ApiDeps, 'webhooks'>, records: readonly JobRecord[]): void {
  for (const { id, webhook } of records) if (webhook !== undefined) webhooks?.follow(id);
}
