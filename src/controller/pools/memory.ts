/** What the controller remembers of a pool between reconciliations. A new leader can rebuild all of it. */
import { MAX_CLAIMS } from '../../jobs/lifecycle.ts';
import { backOff } from './decide/back-off.ts';
import { stabilisationWindow } from './decide/stabilisation.ts';
import { serviceTime } from './observe/service-time.ts';

export type Memory = ReturnType<typeof newMemory>;

export const newMemory = () => ({
  peaks: stabilisationWindow(),
  service: serviceTime(),
  /** Workers that end before their first heartbeat; below, those that end soon after it without finishing a conversion, and Jobs that the API server refuses. */
  startFailures: backOff(),
  /** One bad file may crash up to MAX_CLAIMS workers before its job fails, so as many early deaths prove nothing. */
  earlyDeaths: backOff(MAX_CLAIMS),
  jobRefusals: backOff(),
  /** Slots whose Job name is taken by something outside the cache, and until when to skip them, ms since the epoch. */
  blocked: new Map<number, number>(),
  /**
   * By uid of the Job. `listening`: whether heartbeats could be received when it was first observed. `proved`: it lived long enough or finished a conversion.
   * `counted`: its failure is in a back-off. `silentSince`: since when its pod runs without a heartbeat. Times in ms since the epoch.
   */
  workers: new Map<
    string,
    {
      readonly firstSeen: number;
      readonly listening: boolean;
      sentHeartbeat: boolean;
      proved: boolean;
      counted: boolean;
      silentSince?: number | undefined;
    }
  >(),
  /** By uid: when a pod was first observed without a Job, ms since the epoch. */
  orphans: new Map<string, number>(),
  /** Why Kubernetes creates no pods for its Jobs, and until when that answer is reused, ms since the epoch. */
  refusal: undefined as { readonly message: string | undefined; readonly until: number } | undefined,
  /** The declaration last written to the registry, as JSON; empty: declare again. */
  declared: '',
  /** Why orders should go to other pools, and until when. `publishedTrouble` is the reason API replicas last received, `null` before the first. */
  trouble: undefined as { readonly reason: string; readonly template: string; readonly until: number } | undefined,
  publishedTrouble: null as string | undefined | null,
  /** Who else declares a pool of this name, as last read. */
  contender: undefined as string | undefined,
  status: { text: '', at: Number.NEGATIVE_INFINITY },
  /** Since when orders have been waiting, ms since the epoch. */
  waitingSince: undefined as number | undefined,
});
