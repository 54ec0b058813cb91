/** The tools of this server, and a page for each. */
import { batch, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { loadFormats, loadTools, type Tool, tools } from '../api/catalog.ts';
import { Brush } from '../parts/brush.tsx';
import { Crop } from '../parts/crop.tsx';
import { Example, exampleKind } from '../parts/example.tsx';
import { Icon } from '../parts/icon.tsx';
import { Intake } from '../parts/intake.tsx';
import { Nothing } from '../parts/nothing.tsx';
import { Options } from '../parts/options.tsx';
import { isPdf, PagePicker } from '../parts/pages.tsx';
import { AsRequest, type Request } from '../parts/request.tsx';
import { TaskList } from '../parts/task-list.tsx';
import { familyName } from '../parts/task-row.tsx';
import { Trim } from '../parts/trim.tsx';
import { focusOn, href } from '../route.ts';
import { absentReason, t, title, toolName, toolSummary } from '../words/words.ts';
import { rememberChoice } from '../work/choices.ts';
import { add, remove } from '../work/list.ts';
import type { MakeMask } from '../work/mask.ts';
import { placeOf } from '../work/places.ts';
import { type Piece, pieceOf, shownOf, start, type Task, taskOf } from '../work/tasks.ts';

export function ToolsPage() {
  const text = useSignal('');
  useEffect(() => {
    document.title = `filemill: ${t('tools')}`;
    void loadTools();
  }, []);
  const wanted = text.value.trim().toLowerCase();
  // By the English words too, which people know from elsewhere.
  const wordsOf = ({ slug, summary }: Tool) => [title(slug), summary, toolName(slug).text, toolSummary(slug, summary).text].join(' ');
  const found = (tools.value ?? []).filter((tool) => wordsOf(tool).toLowerCase().includes(wanted));
  const families = Map.groupBy(
    found.filter(({ available }) => available),
    ({ family }) => family,
  );
  const absent = found.filter(({ available }) => !available);
  return (
    <>
      <header class="head">
        <h1 tabIndex={-1}>{t('tools')}</h1>
        <p class="lead">{t('toolsLead')}</p>
        <input
          type="search"
          class="find"
          aria-label={t('searchTools')}
          placeholder={t('searchTools')}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
      </header>
      {[...families].map(([family, members]) => (
        <section key={family} class="family">
          <h2>{familyName(family)}</h2>
          <ul class="cards">
            {members.map((tool) => (
              <Card key={tool.slug} tool={tool} />
            ))}
          </ul>
        </section>
      ))}
      {absent.length > 0 && (
        <section class="family absent">
          <h2>{t('absent')}</h2>
          <ul class="cards">
            {absent.map((tool) => (
              <Card key={tool.slug} tool={tool} />
            ))}
          </ul>
        </section>
      )}
      {tools.value !== undefined && found.length === 0 && <p class="quiet">{t('noTool', { text: text.value })}</p>}
    </>
  );
}

function Card({ tool: { slug, summary, available, reason = '' } }: { tool: Tool }) {
  const name = toolName(slug);
  const says = available ? toolSummary(slug, summary) : absentReason(reason);
  return (
    <li>
      <a href={href(`/tools/${slug}`)} data-view={`/tools/${slug}`}>
        <strong lang={name.lang}>{name.text}</strong>
        <span lang={says.lang}>{says.text}</span>
      </a>
    </li>
  );
}

export function ToolPage({ slug }: { slug: string }) {
  useEffect(() => {
    document.title = `filemill: ${toolName(slug).text}`;
    void loadTools();
    void loadFormats();
  }, [slug]);
  const tool = tools.value?.find((each) => each.slug === slug);
  if (tools.value === undefined) return <h1 tabIndex={-1}>{toolName(slug).text}</h1>;
  const back = (
    <a class="button" href={href('/tools')} data-view="/tools">
      {t('allTools')}
    </a>
  );
  if (tool === undefined) return <Nothing title={t('unknownTool')} more={back} />;
  if (!tool.available)
    return (
      <Nothing
        title={toolName(slug).text}
        lead={toolSummary(slug, tool.summary).text}
        more={
          <>
            <p class="notice">{t('absentWhy', { reason: absentReason(tool.reason ?? '').text })}</p>
            {back}
          </>
        }
      />
    );
  return <Present tool={tool} />;
}

function Present({ tool }: { tool: Tool }) {
  const { slug, summary, options = [], accepts = [], files = { field: 'file', min: 1, max: 1 } } = tool;
  const { pieces, values } = placeOf(slug);
  const isPage = files.field === 'url';
  const together = files.max > 1;
  const list = pieces.value;
  const missing = options.some(({ name, required, schema }) => required && schema.type !== 'boolean' && values.value[name] === undefined);
  const pageField = options.find(({ name }) => name === 'pages');
  const few = list.length < files.min;
  // One request names files in one way.
  const mixed = together && list.some(({ url }) => url !== undefined) && list.some(({ file }) => file !== undefined);
  const move = (from: number, to: number) => {
    const moved = [...list];
    moved.splice(to, 0, ...moved.splice(from, 1));
    pieces.value = moved;
  };
  const kind = exampleKind(tool);
  const mask = useSignal<MakeMask | undefined>(undefined);
  const isTooMuch = useSignal(false);
  const [first] = list;
  const paints = slug === 'remove-object' && list.length === 1 && first?.file !== undefined;
  const painted = paints ? mask.value : undefined;
  // What was painted takes the place of a rectangle.
  const { x, y, w, h, ...others } = values.value;
  const given = painted === undefined ? values.value : others;
  const trouble = useSignal(false);
  const running = useRef(false);
  const run = async () => {
    if (running.current) return;
    running.current = true;
    try {
      const field = together ? 'files[]' : files.field;
      const made: readonly Piece[] = painted === undefined ? [] : [{ ...pieceOf(await painted()), isMask: true }];
      const fresh = (together ? [[...list, ...made]] : list.map((piece) => [piece])).map((some) => taskOf(some, { tool: slug, field }));
      trouble.value = false;
      rememberChoice(slug, { options: given });
      batch(() => {
        add(fresh);
        pieces.value = [];
        for (const task of fresh) start(task, given);
      });
      focusOn('.list h2');
    } catch {
      trouble.value = true;
    } finally {
      running.current = false;
    }
  };
  const [name, says] = [toolName(slug), toolSummary(slug, summary)];
  const restart = (task: Task) => start(task, task.pieces.value.some(({ isMask }) => isMask) ? others : values.value);
  const heading = useRef<HTMLHeadingElement>(null);
  const submit = useRef<HTMLButtonElement>(null);
  const paintAgain = (task: Task) => {
    remove([task]);
    pieces.value = shownOf(task);
    // The button is gone.
    heading.current?.focus();
  };
  const requestOf = (pieces: readonly Piece[]): Request => ({
    path: `api/v1/tools/${slug}`,
    field: pieces.length > 1 ? 'files[]' : files.field,
    files: pieces.flatMap(({ file, name }) => (file === undefined ? [] : [name])),
    urls: pieces.flatMap(({ url }) => (url === undefined ? [] : [url])),
    mask: painted === undefined ? undefined : 'mask.png',
    fields: given,
  });
  const example: Request = {
    ...requestOf([]),
    files: isPage ? [] : Array.from({ length: files.min }, (_, n) => `file${files.min > 1 ? n + 1 : ''}.${accepts[0] ?? 'bin'}`),
    urls: isPage ? ['https://example.org/'] : [],
  };
  return (
    <>
      <header class="head">
        <p class="back">
          <a href={href('/tools')} data-view="/tools">
            {t('allTools')}
          </a>
        </p>
        <h1 tabIndex={-1} lang={name.lang} ref={heading}>
          {name.text}
        </h1>
        <p class="lead" lang={says.lang}>
          {says.text}
        </p>
        {accepts.length > 0 && (
          <p class="quiet">
            {t('accepts', {
              formats:
                accepts.length > 8
                  ? `${accepts
                      .slice(0, 8)
                      .map((each) => each.toUpperCase())
                      .join(', ')} …`
                  : accepts.map((each) => each.toUpperCase()).join(', '),
            })}
          </p>
        )}
      </header>
      <Intake
        add={(given) => {
          pieces.value = [...pieces.value, ...given.map(pieceOf)].slice(0, together ? files.max : undefined);
        }}
        small={list.length > 0 || isPage}
        onlyUrl={isPage}
        most={tool.limits?.max_bytes}
      />
      {kind !== undefined && list.length === 0 && (
        <Example
          key={slug}
          slug={slug}
          kind={kind}
          count={files.min}
          take={(some, told) => {
            pieces.value = some.map(pieceOf);
            values.value = { ...told, ...values.value };
            // The button is gone.
            setTimeout(() => submit.current?.focus());
          }}
        />
      )}
      {list.length > 0 && (
        <ol class="pieces">
          {list.map((piece, place) => (
            <li key={piece.key}>
              <span class="name" dir="auto">
                {piece.name}
              </span>
              {together && (
                <>
                  <button
                    type="button"
                    class="bare"
                    disabled={place === 0}
                    aria-label={t('up', { name: piece.name })}
                    onClick={() => move(place, place - 1)}
                  >
                    <Icon name="arrowUp" />
                  </button>
                  <button
                    type="button"
                    class="bare"
                    disabled={place === list.length - 1}
                    aria-label={t('down', { name: piece.name })}
                    onClick={() => move(place, place + 1)}
                  >
                    <Icon name="arrowDown" />
                  </button>
                </>
              )}
              <button
                type="button"
                class="bare"
                aria-label={t('removeNamed', { name: piece.name })}
                onClick={() => {
                  pieces.value = list.filter((each) => each !== piece);
                }}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ol>
      )}
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          if (!few && !mixed && !isTooMuch.value) void run();
        }}
      >
        {slug === 'crop-image' && first?.file !== undefined && <Crop key={first.key} file={first.file} values={values} />}
        {paints && first?.file !== undefined && (
          <Brush key={first.key} file={first.file} mask={mask} isTooMuch={isTooMuch} values={values} />
        )}
        {pageField !== undefined && list.length === 1 && first?.file !== undefined && isPdf(first.file) && (
          <PagePicker key={first.key} file={first.file} values={values} required={pageField.required} />
        )}
        {options.some(({ name }) => name === 'end_time') && first?.file !== undefined && (
          <Trim key={first.key} file={first.file} values={values} />
        )}
        {options.length > 0 && <h2>{t('options')}</h2>}
        {options.length > 0 && <Options prefix={slug} values={values} fields={options} />}
        <button ref={submit} type="submit" class="button main large" disabled={few || missing || mixed || isTooMuch.value}>
          {t('run')}
        </button>
        {few && !isPage && <p class="quiet">{t('atLeast', { n: files.min })}</p>}
        {mixed && <p role="alert">{t('mixed')}</p>}
        {trouble.value && <p role="alert">{t('brushFailed')}</p>}
      </form>
      <TaskList tool={slug} start={restart} paint={paintAgain} />
      <AsRequest requests={list.length === 0 ? [example] : together ? [requestOf(list)] : list.map((piece) => requestOf([piece]))} />
    </>
  );
}
