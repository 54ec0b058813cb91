/** What this browser has converted, and one job by its link, on any device. */
import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Refusal } from '../api/client.ts';
import { Copy } from '../parts/copy.tsx';
import { sentenceOf } from '../parts/failure.ts';
import { Icon } from '../parts/icon.tsx';
import { Nothing } from '../parts/nothing.tsx';
import { kindOf, Preview } from '../parts/preview.tsx';
import { Warnings } from '../parts/warnings.tsx';
import { go, href } from '../route.ts';
import { bytes, duration, percent, t, toolName } from '../words/words.ts';
import { follow, type Job } from '../work/follow.ts';
import { known } from '../work/history.ts';
import { outputOf } from '../work/result.ts';
import { deleteJob } from '../work/tasks.ts';

const start = () => (
  <a class="button main" href={href('/')} data-view="/">
    {t('toStart')}
  </a>
);

/** The time, each half a minute. */
function useNow() {
  const now = useSignal(Date.now());
  useSignalEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 30_000);
    return () => clearInterval(timer);
  });
  return now.value;
}

/** Names of tools have a hyphen, and those of formats have none. */
const whatName = (what: string): string => (what.includes('-') ? toolName(what).text : what.toUpperCase());

export function JobsPage() {
  const now = useNow();
  useEffect(() => {
    document.title = `filemill: ${t('jobs')}`;
  }, []);
  if (known.value.length === 0) return <Nothing title={t('noJobs')} lead={t('noJobsLead')} more={start()} />;
  return (
    <>
      <header class="head">
        <h1 tabIndex={-1}>{t('jobs')}</h1>
        <p class="lead">{t('jobsLead')}</p>
      </header>
      <ul class="known">
        {known.value.map(({ id, name, what, result, failed, expires }) => (
          <li key={id}>
            <a href={href(`/jobs/${id}`)} data-view={`/jobs/${id}`}>
              <strong dir="auto">{result?.name ?? name}</strong>
              <span>
                {name} → {whatName(what)}
                {result !== undefined && `, ${bytes(result.bytes)}`}
                {failed === true && `, ${t('failed')}`}
              </span>
              <span class="quiet">{t('expiresIn', { time: duration(expires - now) })}</span>
            </a>
            {result !== undefined && (
              <a class="button" href={outputOf(id)} download={result.name} aria-label={t('downloadNamed', { name: result.name })}>
                <Icon name="down" />
                <span class="wide">{t('download')}</span>
              </a>
            )}
            <button type="button" class="bare" aria-label={t('forgetNamed', { name })} onClick={() => deleteJob(id)}>
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

export function JobPage({ id }: { id: string }) {
  const job = useSignal<Job | undefined>(undefined);
  const error = useSignal<Refusal | undefined>(undefined);
  const now = useNow();
  useEffect(() => {
    document.title = `filemill: ${t('job')}`;
    const cancel = new AbortController();
    follow(
      encodeURIComponent(id),
      (told) => {
        job.value = told;
      },
      cancel.signal,
    ).then(
      (done) => {
        job.value = done;
      },
      (thrown: unknown) => {
        if (!cancel.signal.aborted)
          error.value = thrown instanceof Refusal ? thrown : new Refusal({ code: 'INTERNAL_ERROR', message: String(thrown) });
      },
    );
    return () => cancel.abort();
  }, [id]);
  if (error.value !== undefined) {
    const { text, lang } = sentenceOf(error.value);
    return <Nothing title={t('failed')} lead={<span lang={lang}>{text}</span>} more={start()} />;
  }
  const { value: shown } = job;
  if (shown === undefined) return <h1 tabIndex={-1}>{t('job')}</h1>;
  const { output, progress, status, warnings } = shown;
  return (
    <>
      <header class="head">
        <h1 tabIndex={-1} dir="auto">
          {output?.filename ?? t('job')}
        </h1>
        <p class="lead">
          {status === 'processing'
            ? progress === undefined
              ? t('working')
              : t('workingAt', { percent: percent(progress / 100) })
            : t('done')}
          {output !== undefined && `, ${bytes(output.size_bytes)}`}
        </p>
        <p class="quiet">
          {t('expiresIn', { time: duration(Date.parse(shown.expires_at) - now) })}. {t('jobLead')}
        </p>
      </header>
      {status === 'processing' && <progress max={100} {...(progress === undefined ? {} : { value: progress })} aria-label={t('working')} />}
      <div class="ways">
        {output !== undefined && (
          <a class="button main large" href={outputOf(id)} download={output.filename}>
            <Icon name="down" />
            {t('download')}
          </a>
        )}
        <Copy text={location.href} label={t('copyLink')} done={t('linkCopied')} />
        <button
          type="button"
          class="button"
          onClick={() => {
            deleteJob(id);
            go('/jobs');
          }}
        >
          {t('forget')}
        </button>
      </div>
      <Warnings warnings={warnings} />
      {status === 'done' && kindOf(shown) !== undefined && <Preview job={shown} />}
    </>
  );
}
