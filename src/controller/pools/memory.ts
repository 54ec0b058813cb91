/** What the controller remembers of a pool from one look to the next: nothing of it is lost for good with the leader. */
import { MAX_CLAIMS } from '../../jobs/lifecycle.ts';
import { backOff } from './decide/back-off.ts';
import { stabilisationWindow } from './decide/stabilisation.ts';
import { serviceTime } from './observe/service-time.ts';

export type Memory = ReturnType<typeof remember>;

export const remember = () => ({
  peaks: stabilisationWindow(),
  service: serviceTime(),
  /** Workers that end before their first word, those that end soon after it with nothing done, and Jobs that the API server refuses. */
  startFailures: backOff(),
  /** One file may take as many workers along before it is given up. */
  earlyDeaths: backOff(MAX_CLAIMS),
  jobRefusals: backOff(),
  /** Until when names are taken to be in use that the cache knows nothing of, by slot. */
  blocked: new Map<number, number>(),
  /**
   * By uid of the Job: when it was first seen, whether words were heard then, whether its worker ever spoke, and whether it lived or did enough to show that it
   * works; and since when its pod runs without a word. Ms since the epoch.
   */
  workers: new Map<
    string,
    {
      readonly firstSeen: number;
      readonly heard: boolean;
      spoke: boolean;
      proved: boolean;
      counted: boolean;
      silentSince?: number | undefined;
    }
  >(),
  /** By uid: when a pod was first seen to be of no Job, ms since the epoch. */
  orphans: new Map<string, number>(),
  /** Why Kubernetes makes no pods of its Jobs, and until when to believe it. */
  refusal: undefined as { readonly message: string | undefined; readonly until: number } | undefined,
  /** What was last written to the registry and to the status, as text, and when. */
  declared: '',
  /** Why orders should go elsewhere, and until when; and what the API's replicas were told of it, `null` where nothing was yet. */
  trouble: undefined as { readonly reason: string; readonly template: string; readonly until: number } | undefined,
  toldTrouble: null as string | undefined | null,
  /** Who else would have its name, as last read. */
  contender: undefined as string | undefined,
  status: { text: '', at: Number.NEGATIVE_INFINITY },
  /** When its orders were first seen to wait without a worker on the way. */
  waitingSince: undefined as number | undefined,
});
