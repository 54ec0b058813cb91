/** What this browser has converted, and one job by its link, on any device. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { loadFormats } from '../api/catalog.ts';
import { Refusal } from '../api/client.ts';
import { Copy } from '../parts/copy.tsx';
import { sentenceOf } from '../parts/failure.ts';
import { Icon } from '../parts/icon.tsx';
import { Nothing } from '../parts/nothing.tsx';
import { Preview, previewKindOf } from '../parts/preview.tsx';
import { Receipt } from '../parts/receipt.tsx';
import { TaskList } from '../parts/task-list.tsx';
import { Warnings } from '../parts/warnings.tsx';
import { go, href } from '../route.ts';
import { bytes, duration, percent, t } from '../words/words.ts';
import { now } from '../work/clock.ts';
import { follow, type Job, nameOf } from '../work/follow.ts';
import { list } from '../work/list.ts';
import { outputOf } from '../work/result.ts';
import { deleteJobs, start as startAgain } from '../work/tasks.ts';

const start = () => (
  <a class="button main" href={href('/')} data-view="/">
    {t('toStart')}
  </a>
);

export function JobsPage() {
  useEffect(() => {
    document.title = `filemill: ${t('jobs')}`;
    // They say of what kind each file is.
    void loadFormats();
  }, []);
  if (list.value.length === 0) return <Nothing title={t('noJobs')} lead={t('noJobsLead')} more={start()} />;
  return (
    <>
      <header class="head">
        <h1 tabIndex={-1}>{t('jobs')}</h1>
        <p class="lead">{t('jobsLead')}</p>
      </header>
      <TaskList start={(task) => startAgain(task, task.options)} expiry />
    </>
  );
}

export function JobPage({ id }: { id: string }) {
  const job = useSignal<Job | undefined>(undefined);
  const error = useSignal<Refusal | undefined>(undefined);
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
          {output === undefined ? t('job') : nameOf(output)}
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
          {t('expiresIn', { time: duration(Date.parse(shown.expires_at) - now.value) })}. {t('jobLead')}
        </p>
      </header>
      {status === 'processing' && <progress max={100} {...(progress === undefined ? {} : { value: progress })} aria-label={t('working')} />}
      <div class="ways">
        {output !== undefined && (
          <a class="button main large" href={outputOf(id)} download={nameOf(output)}>
            <Icon name="down" />
            {t('download')}
          </a>
        )}
        <Copy text={location.href} label={t('copyLink')} done={t('linkCopied')} />
        <button
          type="button"
          class="button"
          onClick={() => {
            deleteJobs([id]);
            go('/jobs');
          }}
        >
          {t('forget')}
        </button>
      </div>
      <Warnings warnings={warnings} />
      {status === 'done' && <Receipt job={shown} />}
      {status === 'done' && previewKindOf(shown) !== undefined && <Preview job={shown} />}
    </>
  );
}
