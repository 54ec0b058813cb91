{{/* Rules of NetworkPolicies. */}}
{{- define "filemill.toDns" }}
{{- /* OpenShift's servers listen on 5353, and its network judges a packet after the Service's port has become theirs. */}}
{{- $preset := ternary (list 53 5353) (list 53) (.Capabilities.APIVersions.Has "security.openshift.io/v1") }}
- ports: [{{ range $i, $port := .Values.networkPolicy.dnsPorts | default $preset }}{{ if $i }}, {{ end }}{ protocol: UDP, port: {{ $port }} }, { protocol: TCP, port: {{ $port }} }{{ end }}]
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
  to: {{- include "filemill.storePeers" . | nindent 4 }}
{{- end }}
{{- end }}
{{/* Never everywhere unless that is said: workers, which open files of strangers, would reach the Internet. */}}
{{- define "filemill.storePeers" -}}
{{- $peers := .Values.networkPolicy.s3To }}
{{- range .Values.s3.cidrs }}{{ $peers = append $peers (dict "ipBlock" (dict "cidr" .)) }}{{ end }}
{{- $host := regexReplaceAll ":[0-9]+$" (include "filemill.s3Endpoint" . | urlParse).host "" | trimPrefix "[" | trimSuffix "]" }}
{{- if not $peers }}
{{- if regexMatch "^[0-9.]+$" $host }}{{ $peers = list (dict "ipBlock" (dict "cidr" (printf "%s/32" $host))) }}
{{- else if contains ":" $host }}{{ $peers = list (dict "ipBlock" (dict "cidr" (printf "%s/128" $host))) }}{{ end }}
{{- end }}
{{- required "s3.cidrs or networkPolicy.s3To is required with networkPolicy.enabled, as s3.endpoint has no address: where the object store is, for the NetworkPolicies" ($peers | default nil) | toYaml }}
{{- end }}
{{- define "filemill.toEgress" }}
{{- if .Values.egress.enabled }}
- ports: [{ protocol: TCP, port: 8081 }]
  to: [{ podSelector: { matchLabels: {{ include "filemill.selector" (list . "egress") | fromYaml | toJson }} } }]
{{- end }}
{{- end }}
{{- define "filemill.fromMetrics" }}
- ports: [{ protocol: TCP, port: {{ include "filemill.metricsPort" . }} }]
  {{- with .Values.networkPolicy.metricsFrom }}
  from: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
