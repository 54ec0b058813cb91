/** The API server's address and the caller's credentials: what a request needs besides its path. */
import type { Agent, RequestOptions } from 'node:https';

export interface Caller {
  /** May end in a path. */
  readonly server: URL;
  /** The default namespace; undefined if none is configured. */
  readonly namespace: string | undefined;
  /** Headers and certificates, read for each request because tokens are rotated. `agent` is set only for a proxy. */
  credentials(): Promise<RequestOptions & { readonly agent?: Agent | undefined }>;
}
