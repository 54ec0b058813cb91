{{/* Rules of NetworkPolicies. */}}
{{- define "filemill.toDns" }}
- ports: [{ protocol: UDP, port: 53 }, { protocol: TCP, port: 53 }]
  {{- with .Values.networkPolicy.dnsTo }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- define "filemill.toNats" }}
- ports: [{ protocol: TCP, port: {{ ternary 4222 .Values.networkPolicy.natsPort .Values.nats.trial.enabled }} }]
  {{- if .Values.nats.trial.enabled }}
  to: [{ podSelector: { matchLabels: {{ include "filemill.selector" (list . "nats") | fromYaml | toJson }} } }]
  {{- else }}{{ with .Values.networkPolicy.natsTo }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}{{ end }}
{{- end }}
{{- define "filemill.toStore" }}
{{- if .Values.s3.trial.enabled }}
- ports: [{ protocol: TCP, port: 9000 }]
  to: [{ podSelector: { matchLabels: {{ include "filemill.selector" (list . "minio") | fromYaml | toJson }} } }]
{{- else }}
- ports: [{ protocol: TCP, port: {{ .Values.s3.port }} }]
  to: [{{ range $i, $cidr := .Values.s3.cidrs }}{{ if $i }}, {{ end }}{ ipBlock: { cidr: {{ $cidr }} } }{{ end }}]
{{- end }}
{{- end }}
{{- define "filemill.toEgress" }}
{{- if .Values.egress.enabled }}
- ports: [{ protocol: TCP, port: 8081 }]
  to: [{ podSelector: { matchLabels: {{ include "filemill.selector" (list . "egress") | fromYaml | toJson }} } }]
{{- end }}
{{- end }}
{{- define "filemill.fromMetrics" }}
- ports: [{ protocol: TCP, port: {{ index . 1 }} }]
  {{- with (index . 0).Values.networkPolicy.metricsFrom }}
  from: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
