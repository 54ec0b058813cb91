/** What the protocol's conformance suite looks for on a server: tools, resources and prompts that the suite invents, for the test alone. */

import { setTimeout as pause } from 'node:timers/promises';
import {
  createRequestStateCodec,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { DOT } from '../../kit/catalog/bytes.ts';

/** One red point. */
const PNG = DOT.bytes.toString('base64');
/** No sample at all. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const;
const text = (words: string) => ({ type: 'text', text: words }) as const;
const says = (...content: object[]) => ({ content });
const embedded = (uri: string, mimeType: string, words: string) =>
  ({ type: 'resource', resource: { uri, mimeType, text: words } }) as const;

/** A question to the client, which it answers with its next request. */
const form = (message: string, name: string, type = 'string') => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: { [name]: { type } }, required: [name] } },
});
const sample = (words: string, maxTokens: number) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(words) }], maxTokens },
});
const roots = { method: 'roots/list', params: {} };
const asks = (inputRequests: object, requestState?: string) => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState === undefined ? {} : { requestState }),
});

const states = createRequestStateCodec<string>({ key: '0123456789abcdef0123456789abcdef' });

type Run = (context: ServerContext) => object | Promise<object>;

/** What the client answered to a question, where it did as it should. */
function answered(context: ServerContext, key: string): { readonly content?: Record<string, unknown> } | undefined {
  const answer = context.mcpReq.inputResponses?.[key];
  return typeof answer === 'object' && answer !== null ? answer : undefined;
}

const NAME = { user_name: form('What is your name?', 'name') };

const TOOLS: Readonly<Record<string, Run>> = {
  test_simple_text: () => says(text('This is a simple text response for testing.')),
  test_image_content: () => says(image),
  test_audio_content: () => says({ type: 'audio', data: WAV, mimeType: 'audio/wav' }),
  test_embedded_resource: () => says(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
  test_multiple_content_types: () =>
    says(
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ),
  test_error_handling: () => ({ isError: true, ...says(text('This tool intentionally returns an error for testing')) }),
  async test_tool_with_progress({ mcpReq: { _meta, notify } }) {
    const progressToken = _meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) await notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
      await pause(50);
    }
    return says(text('The work is done.'));
  },
  async test_tool_with_logging({ mcpReq: { log } }) {
    for (const words of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await log('info', words);
      await pause(50);
    }
    return says(text('The work is done.'));
  },
  async test_logging_tool({ mcpReq: { log } }) {
    await log('info', 'working');
    return says(text('The work is done.'));
  },
  test_missing_capability() {
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
  },
  test_streaming_elicitation: (context) => (answered(context, 'user_name') === undefined ? asks(NAME) : says(text('The work is done.'))),
  test_input_required_result_elicitation(context) {
    const name = answered(context, 'user_name')?.content?.['name'];
    return typeof name === 'string' ? says(text(`Hello, ${name}!`)) : asks(NAME);
  },
  test_input_required_result_sampling: (context) =>
    answered(context, 'capital_question') === undefined
      ? asks({ capital_question: sample('What is the capital of France?', 100) })
      : says(text(JSON.stringify(answered(context, 'capital_question')))),
  test_input_required_result_list_roots: (context) =>
    answered(context, 'client_roots') === undefined
      ? asks({ client_roots: roots })
      : says(text(JSON.stringify(answered(context, 'client_roots')))),
  test_input_required_result_request_state: async (context) =>
    answered(context, 'confirm') !== undefined && context.mcpReq.requestState<string>() === 'confirmed'
      ? says(text('state-ok'))
      : asks({ confirm: form('Please confirm', 'ok', 'boolean') }, await states.mint('confirmed')),
  test_input_required_result_multiple_inputs: async (context) =>
    ['user_name', 'greeting', 'client_roots'].every((key) => answered(context, key) !== undefined)
      ? says(text('All answers are here.'))
      : asks({ ...NAME, greeting: sample('Generate a greeting', 50), client_roots: roots }, await states.mint('three')),
  async test_input_required_result_multi_round(context) {
    const state = context.mcpReq.requestState<string>();
    if (state === 'second' && answered(context, 'step2') !== undefined) return says(text('Both rounds are over.'));
    if (state === 'first' && answered(context, 'step1') !== undefined)
      return asks({ step2: form('Step 2: What is your favorite color?', 'color') }, await states.mint('second'));
    return asks({ step1: form('Step 1: What is your name?', 'name') }, await states.mint('first'));
  },
  test_input_required_result_tampered_state: async (context) =>
    answered(context, 'confirm') !== undefined && context.mcpReq.requestState<string>() === 'whole'
      ? says(text('state-ok'))
      : asks({ confirm: form('Please confirm', 'ok', 'boolean') }, await states.mint('whole')),
  test_input_required_result_capabilities({ mcpReq: { envelope } }) {
    const can = ((envelope as Record<string, unknown> | undefined)?.['io.modelcontextprotocol/clientCapabilities'] ?? {}) as Record<
      string,
      unknown
    >;
    return asks({ ...(can['sampling'] ? { question: sample('What is it?', 50) } : {}), ...(can['elicitation'] ? NAME : {}) });
  },
};

const RESOURCES: Readonly<Record<string, object>> = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'This resource does not change.' },
};

const PROMPTS: Readonly<
  Record<
    string,
    { readonly takes: readonly string[]; readonly get: (args: Readonly<Record<string, string>>, context: ServerContext) => object }
  >
> = {
  test_simple_prompt: { takes: [], get: () => messages(text('This is a simple prompt for testing.')) },
  test_prompt_with_arguments: {
    takes: ['arg1', 'arg2'],
    get: ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  test_prompt_with_embedded_resource: {
    takes: ['resourceUri'],
    get: ({ resourceUri = '' }) =>
      messages(
        embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ),
  },
  test_prompt_with_image: { takes: [], get: () => messages(image, text('Please analyze the image above.')) },
  test_input_required_result_prompt: {
    takes: [],
    get: (_, context) =>
      answered(context, 'user_context') === undefined
        ? asks({ user_context: form('What context should the prompt use?', 'context') })
        : messages(text('The prompt has its context.')),
  },
};
const messages = (...content: object[]) => ({ messages: content.map((each) => ({ role: 'user', content: each })) });

/** One for each request, as the service's own. */
export function fixtureServer(): Server {
  const hint = { ttlMs: 1_000, cacheScope: 'public' } as const;
  const server = new Server(
    { name: 'fixtures', version: '1.0.0' },
    {
      capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} },
      requestState: { verify: (state, context) => states.verify(state, context) },
      cacheHints: {
        'tools/list': hint,
        'prompts/list': hint,
        'resources/list': hint,
        'resources/templates/list': hint,
        'resources/read': hint,
      },
    },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: Object.keys(TOOLS).map((name) => ({ name, description: `The fixture ${name}`, inputSchema: { type: 'object' as const } })),
  }));
  server.setRequestHandler('tools/call', async ({ params: { name } }, context) => {
    const run = TOOLS[name];
    if (run === undefined) throw new ProtocolError(-32_602, `There is no tool ${name}.`);
    return (await run(context)) as never;
  });
  server.setRequestHandler('resources/list', () => ({
    resources: Object.keys(RESOURCES).map((uri) => ({ uri, name: uri, description: `The fixture ${uri}` })),
  }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      { uriTemplate: 'test://template/{id}/data', name: 'template', description: 'Data by id', mimeType: 'application/json' },
    ],
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    const content =
      id === undefined
        ? RESOURCES[uri]
        : { mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
    if (content === undefined) throw new ProtocolError(-32_602, 'Resource not found', { uri });
    return { contents: [{ uri, ...content }] } as never;
  });
  server.setRequestHandler('resources/subscribe', () => ({}));
  server.setRequestHandler('resources/unsubscribe', () => ({}));
  server.setRequestHandler('prompts/list', () => ({
    prompts: Object.entries(PROMPTS).map(([name, { takes }]) => ({
      name,
      description: `The fixture ${name}`,
      arguments: takes.map((argument) => ({ name: argument, required: true })),
    })),
  }));
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: args } }, context) => {
    const prompt = PROMPTS[name];
    if (prompt === undefined) throw new ProtocolError(-32_602, `There is no prompt ${name}.`);
    return prompt.get(args ?? {}, context) as never;
  });
  server.setRequestHandler('completion/complete', () => ({ completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false } }));
  return server;
}
