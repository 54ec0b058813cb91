/** A process that takes part in the leader election and prints the outcome: `won`, `lost`, and whether it believes to lead at that moment. */
import { connectKube } from '../../../src/kube/connection/connect.ts';
import { startLeaderElection } from '../../../src/kube/lease.ts';

const [kubeconfig, name = '', identity = ''] = process.argv.slice(2);
const kube = await connectKube({ kubeconfig });
const candidacy = startLeaderElection({ kube, namespace: 'default', name, identity });
const say = (what: string) => console.log(`${what}, ${candidacy.leading ? 'leading' : 'not leading'}`);

process.once('SIGTERM', () => void candidacy.resign().then(() => process.exit(0)));
void candidacy.lost.then((why) => {
  say(`lost: ${why}`);
  process.exit(1);
});
await candidacy.won;
say('won');
