/** What follows the ends of conversions in each process with the API: results go where clients want them, and messages to clients. */
import type { ApiDeps } from '../../api/deps.ts';
import type { Config } from '../../config.ts';
import type { S3Places } from '../../destinations/places.ts';
import type { Sender } from '../../fetch/send.ts';
import type { Stored } from '../../jobs/store.ts';
import { destinationsFor } from './destinations.ts';
import { webhooksFor } from './webhooks.ts';

interface EndsDeps extends Omit<ApiDeps, 'webhooks' | 'destinations' | 'limits'> {
  /** Undefined where nothing is fetched. */
  readonly sender: Sender | undefined;
  /** Objects that requests name. */
  readonly places: S3Places;
  readonly config: Pick<Config, 'webhooks' | 'destinations' | 'fetch' | 'egress'>;
  readonly aloneSince?: number;
}

interface Ends {
  readonly api: Pick<ApiDeps, 'webhooks' | 'destinations'>;
  /** Given each job that upkeep looks at. */
  readonly offer: (stored: Stored) => void;
  readonly stop: () => Promise<void>;
}

export function endsFor({ config, ...deps }: EndsDeps): Ends {
  const webhooks = webhooksFor({ ...deps, settings: config.webhooks });
  const destinations = destinationsFor({ ...deps, config });
  return {
    api: { webhooks: webhooks?.api, destinations: destinations.api },
    offer(stored) {
      destinations.offer(stored);
      webhooks?.offer(stored);
    },
    async stop() {
      await Promise.all([destinations.stop(), webhooks?.stop()]);
    },
  };
}
