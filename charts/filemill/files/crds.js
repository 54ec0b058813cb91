// Applies the CustomResourceDefinitions beside it, server-side, as `kubectl apply --server-side --force-conflicts` does.
import { readdirSync, readFileSync } from 'node:fs';

const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
const token = readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/token', 'utf8');
const at = `https://${host.includes(':') ? `[${host}]` : host}:${port}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
for (const file of readdirSync('/crds').filter((name) => name.endsWith('.yaml'))) {
  const answer = await fetch(`${at}/${file.slice(0, -'.yaml'.length)}?fieldManager=filemill-chart&force=true`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/apply-patch+yaml' },
    body: readFileSync(`/crds/${file}`),
    signal: AbortSignal.timeout(20_000),
  });
  console.log(`${file}: ${answer.status}`);
  if (!answer.ok) throw new Error(await answer.text());
}
