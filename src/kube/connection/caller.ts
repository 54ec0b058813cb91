/** Who asks the API server, and where that is: what a request needs besides its path. */
import type { Agent, RequestOptions } from 'node:https';

export interface Caller {
  /** May end in a path. */
  readonly server: URL;
  /** That it works in; undefined where none is named. */
  readonly namespace: string | undefined;
  /** Headers and certificates, for each request anew: tokens are replaced under way. An agent where the way leads through a proxy. */
  credentials(): Promise<RequestOptions & { readonly agent?: Agent | undefined }>;
}
