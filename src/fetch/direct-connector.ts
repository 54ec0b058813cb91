/** The connector of a process with Internet access: resolves names, checks every address, and connects to a checked one. */

import { within } from '../streams/deadline.ts';
import type { AddressJudge } from './address.ts';
import type { Connector } from './connector.ts';
import { dial } from './dial.ts';
import { urlRefused } from './refusal.ts';
import { publicAddresses, type Resolve } from './resolve.ts';
import type { FetchSettings } from './settings.ts';
import type { ConnectTarget } from './url.ts';

export interface DirectConnectorDeps {
  readonly resolve: Resolve;
  readonly judge: AddressJudge;
}

export function directConnector(
  { resolveMs, connectMs }: Pick<FetchSettings, 'resolveMs' | 'connectMs'>,
  deps: DirectConnectorDeps,
): Connector {
  const find = (target: ConnectTarget, signal: AbortSignal) => publicAddresses(target, deps.resolve, deps.judge, resolveMs, signal);
  const late = () => urlRefused('unreachable', { says: 'The server in the URL did not accept a connection in time.' });
  return {
    async judge(target, signal) {
      await find(target, signal);
    },
    async connect(target, signal) {
      const addresses = await find(target, signal);
      return within(connectMs, signal, late, (limited) => dial(target, addresses, limited));
    },
  };
}
