/** What serves the tools behind an MCP address, and what it is given with each call. */
import type { FastifyRequest } from 'fastify';
import type { Log } from '../../../telemetry/log.ts';
import type { ReservedShare } from '../../admission/share.ts';
import type { Factory } from './protocol.ts';

/** What a call gets from its request. */
export interface CallContext {
  /** The job's id, chosen when the call was admitted. */
  readonly id: string;
  /** The client's key in the limits. */
  readonly client: string;
  readonly base: string;
  /** Whether the client can get progress before the answer. */
  readonly streams: boolean;
  /** Id of the request, which support looks up. */
  readonly requestId: string;
  /** Reserved when the call was admitted. */
  readonly share: ReservedShare;
  /** When the answer is due, by `performance.now()`. */
  readonly dueAt: number;
  /** To be called when no file of the request is in memory any more. */
  readonly release: () => void;
  readonly log: Pick<Log, 'info'>;
}

/** Called as a call proceeds, so that it is charged or refunded. */
export interface CallListener {
  readonly began: () => void;
  /** @param status that REST would answer with */
  readonly ended: (status: number) => Promise<void>;
}

export interface ToolCallContext extends Omit<CallContext, 'base'> {
  /** Moves a call's arguments out of its message: the library makes copies, and keeps them as long as it waits for the answer. */
  readonly takeArguments: () => Record<string, unknown>;
}

/** The tools that an address serves: this installation's, or a test's. */
export interface Served {
  /** Whether a call of this tool creates a job. */
  readonly works: (tool: string) => boolean;
  /** Whether the list has changed since this was asked last. */
  readonly hasChanged?: () => boolean;
  readonly factoryFor: (request: FastifyRequest, context: ToolCallContext, listener: CallListener) => Factory;
}
