{{- define "filemill.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}{{ $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}
{{- end }}

{{/* (list . component more): labels of an object. Those that are the chart's win over `more` and `commonLabels`: selectors need them. */}}
{{- define "filemill.labels" -}}
{{- $root := index . 0 -}}
{{- $own := dict
  "app.kubernetes.io/name" "filemill"
  "app.kubernetes.io/instance" $root.Release.Name
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/part-of" "filemill"
  "app.kubernetes.io/managed-by" $root.Release.Service
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version) -}}
{{- with index . 1 }}{{ $_ := set $own "app.kubernetes.io/component" . }}{{ end -}}
{{- toYaml (merge $own (index . 2) $root.Values.commonLabels) }}
{{- end }}

{{/* (list . name more): metadata of an object. `more` may have component, labels, annotations, and `cluster` for one without a namespace. */}}
{{- define "filemill.metadata" -}}
{{- $root := index . 0 }}{{ $more := index . 2 -}}
name: {{ index . 1 }}
{{- if not $more.cluster }}
namespace: {{ $root.Release.Namespace }}
{{- end }}
labels: {{- include "filemill.labels" (list $root $more.component ($more.labels | default dict)) | nindent 2 }}
{{- with merge (dict) ($more.annotations | default dict) $root.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* (list . component): labels of a trial's server, without versions. */}}
{{- define "filemill.trialLabels" -}}
{{- $root := index . 0 -}}
{{- toYaml (merge (include "filemill.selector" . | fromYaml) (dict "app.kubernetes.io/part-of" "filemill") $root.Values.pods.labels $root.Values.commonLabels) }}
{{- end }}

{{/* (list . name trial): StorageClass of a trial's server: `-` for none. An existing claim keeps its class. */}}
{{- define "filemill.trialClass" -}}
{{- $root := index . 0 }}{{ $wanted := (index . 2).storageClass -}}
{{- $claim := lookup "v1" "PersistentVolumeClaim" $root.Release.Namespace (index . 1) -}}
{{- $default := "-" -}}
{{- range (lookup "storage.k8s.io/v1" "StorageClass" "" "").items -}}
{{- if eq "true" (dig "storageclass.kubernetes.io/is-default-class" "" (.metadata.annotations | default dict)) }}{{ $default = .metadata.name }}{{ end -}}
{{- end -}}
{{- if $claim }}{{ $claim.spec.storageClassName }}{{ else }}{{ default $default $wanted }}{{ end }}
{{- end }}
{{/* (list . name): how the pod of a trial's server is replaced. One that an earlier version installed cannot be given OnDelete, as Kubernetes filled in what only RollingUpdate may have: there a partition keeps the pod. */}}
{{- define "filemill.trialUpdates" -}}
{{- $old := (lookup "apps/v1" "StatefulSet" (index . 0).Release.Namespace (index . 1)).spec | default dict -}}
{{- if eq "RollingUpdate" (dig "updateStrategy" "type" "" $old) -}}
type: RollingUpdate
rollingUpdate: { partition: 1 }
{{- else -}}
type: OnDelete
{{- end }}
{{- end }}
{{- define "filemill.trialVolume" -}}
{{- if eq "-" (include "filemill.trialClass" .) -}}
{ name: data, emptyDir: { sizeLimit: {{ (index . 2).storage }} } }
{{- else -}}
{ name: data, persistentVolumeClaim: { claimName: {{ index . 1 }} } }
{{- end }}
{{- end }}
{{- define "filemill.trialClaim" }}
{{- $class := include "filemill.trialClass" . }}
{{- if ne "-" $class }}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{- include "filemill.metadata" (list (index . 0) (index . 1) dict) | nindent 2 }}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: {{ $class }}
  resources: { requests: { storage: {{ (index . 2).storage }} } }
{{- end }}
{{- end }}

{{/* (list . component) */}}
{{- define "filemill.selector" -}}
app.kubernetes.io/name: filemill
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Pods of workers: the controller labels them, with the pool as their instance. */}}
{{- define "filemill.workers" -}}
app.kubernetes.io/name: filemill
app.kubernetes.io/component: worker
{{- end }}

{{/* (list . name): the image of a toolchain, or of app. */}}
{{- define "filemill.image" -}}
{{- $root := index . 0 }}{{ $image := $root.Values.image -}}
{{- $registry := required "image.registry is required: filemill's images are not published; build them with make images, and push them there" $image.registry -}}
{{- $name := printf "%s/%s/%s" $registry $image.repository (index . 1) -}}
{{- with index $image.digests (index . 1) }}{{ printf "%s@%s" $name . }}{{ else }}{{ printf "%s:%s" $name (default $root.Chart.AppVersion $image.tag) }}{{ end }}
{{- end }}

{{- define "filemill.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "filemill.secretName" -}}{{ default (printf "%s-keys" (include "filemill.fullname" .)) .Values.secrets.existingSecret }}{{- end }}
{{- define "filemill.egressSecret" -}}{{ default (printf "%s-egress" (include "filemill.fullname" .)) .Values.egress.existingSecret }}{{- end }}
{{- define "filemill.egressUrl" -}}http://{{ include "filemill.fullname" . }}-egress:8081{{- end }}
{{- define "filemill.s3Secret" -}}{{ if .Values.s3.trial.enabled }}{{ include "filemill.fullname" . }}-minio{{ else }}{{ .Values.s3.existingSecret }}{{ end }}{{- end }}

{{/* (list . user): the Secret of a NATS user; workers are called worker-<pool>. */}}
{{- define "filemill.natsSecret" -}}
{{- $root := index . 0 }}{{ $user := index . 1 -}}
{{- if $root.Values.nats.trial.enabled }}{{ include "filemill.fullname" $root }}-nats-{{ $user }}
{{- else if eq $user "api" }}{{ $root.Values.nats.apiSecret }}
{{- else if eq $user "controller" }}{{ $root.Values.nats.controllerSecret }}
{{- else }}{{ $root.Values.nats.workerSecret | replace "%s" (trimPrefix "worker-" $user) }}
{{- end }}
{{- end }}

{{- define "filemill.natsServers" -}}
{{- if .Values.nats.trial.enabled }}{{ list (printf "tls://%s-nats:4222" (include "filemill.fullname" .)) | toJson }}
{{- else if .Values.nats.servers }}{{ .Values.nats.servers | toJson }}
{{- else }}{{ fail "nats.servers is required, or nats.trial.enabled for a trial" }}{{ end }}
{{- end }}

{{- define "filemill.s3Endpoint" -}}
{{- if .Values.s3.trial.enabled }}https://{{ include "filemill.fullname" . }}-minio:9000{{ else }}{{ required "s3.endpoint is required, or s3.trial.enabled for a trial" .Values.s3.endpoint }}{{ end }}
{{- end }}

{{/* The Secret or ConfigMap with `ca.crt`, as the source of a volume; nothing where Node's authorities are enough. Only ca.crt: the Secret may hold a key. */}}
{{- define "filemill.caSource" -}}
{{- $items := list (dict "key" "ca.crt" "path" "ca.crt") -}}
{{- with .secret }}{{ dict "secret" (dict "secretName" . "items" $items) | toYaml }}
{{- else }}{{ with .configMap }}{{ dict "configMap" (dict "name" . "items" $items) | toYaml }}{{ end }}{{ end }}
{{- end }}
{{- define "filemill.natsCa" -}}
{{- if .Values.nats.trial.enabled }}{{ include "filemill.caSource" (dict "secret" (printf "%s-nats-tls" (include "filemill.fullname" .))) }}
{{- else }}{{ include "filemill.caSource" (dict "secret" .Values.nats.caSecret "configMap" .Values.nats.caConfigMap) }}{{ end }}
{{- end }}
{{- define "filemill.s3Ca" -}}
{{- if .Values.s3.trial.enabled }}{{ include "filemill.caSource" (dict "secret" (printf "%s-minio-tls" (include "filemill.fullname" .))) }}
{{- else }}{{ include "filemill.caSource" (dict "secret" .Values.s3.caSecret "configMap" .Values.s3.caConfigMap) }}{{ end }}
{{- end }}

{{/* (list . user): the Secret with the certificate that a NATS user presents; nothing where the servers ask for none. */}}
{{- define "filemill.natsCertificate" -}}
{{- $nats := (index . 0).Values.nats -}}
{{- if not $nats.trial.enabled }}{{ $nats.certificateSecret | replace "%s" (index . 1) }}{{ end }}
{{- end }}

{{/* (list . user): certificates, as volumes, mounts and variables. */}}
{{- define "filemill.certificateVolumes" -}}
{{- $root := index . 0 }}
{{- with include "filemill.natsCa" $root | fromYaml }}
- {{ merge (dict "name" "nats-ca") . | toJson }}
{{- end }}
{{- with include "filemill.natsCertificate" . }}
- { name: nats-certificate, secret: { secretName: {{ . }} } }
{{- end }}
{{- with include "filemill.s3Ca" $root | fromYaml }}
- {{ merge (dict "name" "s3-ca") . | toJson }}
{{- end }}
{{- end }}
{{- define "filemill.certificateMounts" -}}
{{- $root := index . 0 }}
{{- if include "filemill.natsCa" $root }}
- { name: nats-ca, mountPath: /etc/ssl/nats, readOnly: true }
{{- end }}
{{- if include "filemill.natsCertificate" . }}
- { name: nats-certificate, mountPath: /etc/ssl/nats-certificate, readOnly: true }
{{- end }}
{{- if include "filemill.s3Ca" $root }}
- { name: s3-ca, mountPath: /etc/ssl/s3, readOnly: true }
{{- end }}
{{- end }}
{{- define "filemill.certificateEnv" -}}
{{- $root := index . 0 }}
{{- if include "filemill.natsCa" $root }}
- { name: NATS_CA, value: /etc/ssl/nats/ca.crt }
{{- end }}
{{- if include "filemill.natsCertificate" . }}
- { name: NATS_CERT, value: /etc/ssl/nats-certificate/tls.crt }
- { name: NATS_KEY, value: /etc/ssl/nats-certificate/tls.key }
{{- end }}
{{- if include "filemill.s3Ca" $root }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/ssl/s3/ca.crt }
{{- end }}
{{- end }}

{{/* User and group of pods; nothing where the cluster assigns them. */}}
{{- define "filemill.user" -}}
{{- $user := int .Values.pods.runAsUser -}}
{{- $given := pick .Values.pods.securityContext "runAsUser" "runAsGroup" "fsGroup" "fsGroupChangePolicy" "supplementalGroups" "seLinuxOptions" -}}
{{- if and $user (not (.Capabilities.APIVersions.Has "security.openshift.io/v1")) }}
{{- $given = merge (deepCopy $given) (dict "runAsUser" $user "runAsGroup" $user "fsGroup" $user) }}
{{- end }}
{{- toYaml $given }}
{{- end }}
{{- define "filemill.podSecurity" -}}
{{- merge (dict "runAsNonRoot" true) (include "filemill.user" . | fromYaml) .Values.pods.securityContext (dict "seccompProfile" (dict "type" "RuntimeDefault")) | toYaml }}
{{- end }}
{{- define "filemill.containerSecurity" -}}
{{- merge (deepCopy .Values.pods.containerSecurityContext) (dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL"))) | toYaml }}
{{- end }}

{{/* What every pod of the chart has. */}}
{{- define "filemill.everyPod" -}}
enableServiceLinks: false
{{- include "filemill.pullSecrets" . }}
securityContext: {{- include "filemill.podSecurity" . | nindent 2 }}
{{- with .Values.pods.schedulerName }}
schedulerName: {{ . }}
{{- end }}
{{- with .Values.pods.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.pods.dnsConfig }}
dnsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pods.hostAliases }}
hostAliases: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* (list . role): the ServiceAccount of api, controller or egress, and its name. */}}
{{- define "filemill.account" -}}
{{- $root := index . 0 }}{{ $own := (index $root.Values (index . 1)).serviceAccount -}}
{{- if $own.name }}{{ $own.name }}{{ else if $own.create }}{{ include "filemill.fullname" $root }}-{{ index . 1 }}{{ else }}default{{ end }}
{{- end }}
{{- define "filemill.serviceAccount" -}}
{{- $root := index . 0 }}{{ $role := index . 1 }}{{ $own := (index $root.Values $role).serviceAccount -}}
{{- if $own.create }}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "filemill.metadata" (list $root (include "filemill.account" .) (dict "component" $role "annotations" $own.annotations)) | nindent 2 }}
automountServiceAccountToken: false
---
{{- end }}
{{- end }}

{{/* (list . role checksum volumes): metadata of a pod of api, controller or egress, whose settings are read at the start. */}}
{{- define "filemill.podMetadata" -}}
{{- $root := index . 0 }}{{ $role := index . 1 }}{{ $own := index $root.Values $role -}}
labels: {{- include "filemill.labels" (list $root $role (merge (dict) $own.podLabels $root.Values.pods.labels)) | nindent 2 }}
{{- /* Their volumes hold copies only: without this a cluster autoscaler keeps every node that has such a pod. */}}
{{- $annotations := dict "checksum/config" (index . 2) "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes" (index . 3) }}
annotations: {{- merge $annotations $own.podAnnotations $root.Values.pods.annotations $root.Values.commonAnnotations | toYaml | nindent 2 }}
{{- end }}

{{/* (list . role): what the pods of api, controller and egress have in common. */}}
{{- define "filemill.rolePod" -}}
{{- $root := index . 0 }}{{ $role := index . 1 }}{{ $own := index $root.Values $role -}}
serviceAccountName: {{ include "filemill.account" . }}
{{- /* The controller is the one role that speaks to the Kubernetes API. */}}
automountServiceAccountToken: {{ eq $role "controller" }}
{{ include "filemill.everyPod" $root }}
{{- with include "filemill.priority" (list $root $own.priorityClassName) }}
priorityClassName: {{ . }}
{{- end }}
{{ include "filemill.placement" (list $root $role $own.tolerations) }}
{{- with $own.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* (list . role): what an operator adds to the pods of a role, as volumes, mounts and variables. */}}
{{- define "filemill.moreVolumes" -}}
{{- $root := index . 0 }}
{{- with concat $root.Values.pods.volumes (index $root.Values (index . 1)).volumes }}{{ toYaml . }}{{ end }}
{{- end }}
{{- define "filemill.moreMounts" -}}
{{- $root := index . 0 }}
{{- with concat $root.Values.pods.volumeMounts (index $root.Values (index . 1)).volumeMounts }}{{ toYaml . }}{{ end }}
{{- end }}
{{- define "filemill.moreEnv" -}}
{{- $root := index . 0 }}
{{- with concat $root.Values.pods.env (index $root.Values (index . 1)).env }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* (list . role): keeps all but one replica while nodes are drained. A pod that is not ready serves no request: its node may be drained. */}}
{{- define "filemill.disruptionBudget" -}}
{{- $root := index . 0 }}{{ $role := index . 1 -}}
{{- if (index $root.Values $role).podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "filemill.metadata" (list $root (printf "%s-%s" (include "filemill.fullname" $root) $role) (dict "component" $role)) | nindent 2 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "filemill.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{/* Of every role's pods: the controller gives it to workers. */}}
{{- define "filemill.metricsPort" -}}9090{{- end }}

{{/* IP families of a Service. */}}
{{- define "filemill.families" -}}
{{- with .Values.service.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.service.ipFamilies }}
ipFamilies: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{/* The address that processes listen on: all of IPv4, and of IPv6 where Services may have it. */}}
{{- define "filemill.anyAddress" -}}
{{- if or (has "IPv6" .Values.service.ipFamilies) (hasSuffix "DualStack" .Values.service.ipFamilyPolicy) }}::{{ else }}0.0.0.0{{ end }}
{{- end }}

{{/* (list . port): the same with a port, quoted. */}}
{{- define "filemill.listen" -}}
{{- $any := include "filemill.anyAddress" (index . 0) }}{{ printf (ternary "[%s]:%v" "%s:%v" (contains ":" $any)) $any (index . 1) | quote }}
{{- end }}

{{/* (list . component tolerations): replicas are spread, each revision by itself, or a rollout could end with all of them on one node; and a replica of a lost node is replaced after 30 s instead of 300. */}}
{{- define "filemill.placement" -}}
topologySpreadConstraints:
  {{- $root := index . 0 }}{{ $component := index . 1 }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "filemill.selector" (list $root $component) | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
tolerations:
  {{- range list "not-ready" "unreachable" }}
  - { key: node.kubernetes.io/{{ . }}, operator: Exists, effect: NoExecute, tolerationSeconds: 30 }
  {{- end }}
  {{- with index . 2 }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "filemill.priority" -}}
{{- $own := index . 1 }}{{ $classes := (index . 0).Values.priorityClasses }}{{ if $own }}{{ $own }}{{ else if $classes.create }}{{ $classes.servingName }}{{ end }}
{{- end }}

{{/* How long a replica may finish uploads and downloads: of its grace period, what neither the wait before its stop nor the 5 s for what follows take. */}}
{{- define "filemill.drainMs" -}}
{{- mul 1000 (max 1 (sub (sub .Values.api.terminationGraceSeconds .Values.api.preStopSeconds) 5)) -}}
{{- end }}

{{/* Settings of the roles that the chart itself runs. */}}
{{- define "filemill.settings" -}}
{{- $own := dict
  "nats" (dict "servers" (include "filemill.natsServers" . | fromJsonArray) "replicas" .Values.nats.replicas)
  "pools" (dict "source" "controller")
  "s3" (dict "endpoint" (include "filemill.s3Endpoint" .) "region" .Values.s3.region "bucket" .Values.s3.bucket "pathStyle" .Values.s3.pathStyle)
  "controller" (dict "lease" (printf "%s-controller" (include "filemill.fullname" .)) "allNamespaces" .Values.controller.allNamespaces)
  "api" (dict "publicUrl" (required "api.publicUrl is required: what clients reach the service by" .Values.api.publicUrl) "trustProxy" .Values.api.trustProxy "drainMs" (include "filemill.drainMs" . | int)) -}}
{{- /* Fixed, because ports of containers, Services and NetworkPolicies are the same. `config` has none of them. */}}
{{- $any := include "filemill.anyAddress" . }}
{{- $fixed := dict
  "api" (dict "host" $any "metricsPort" (include "filemill.metricsPort" . | int) "metricsHost" $any)
  "controller" (dict "probesPort" (include "filemill.metricsPort" . | int)) -}}
{{- if not .Values.egress.enabled }}{{ $_ := set $own "fetch" (dict "rest" false) }}{{ end -}}
{{- toYaml (mergeOverwrite $own (deepCopy .Values.config) $fixed) }}
{{- end }}

{{/* Settings of workers: nothing that names the bucket or holds a secret. They listen for probes and metrics alone. */}}
{{- define "filemill.workerSettings" -}}
{{- $shared := pick .Values.config "worker" "log" "fetch" }}
{{- if not .Values.egress.enabled }}{{ $shared = mergeOverwrite (dict "fetch" (dict "rest" false)) $shared }}{{ end }}
{{- toYaml (mergeOverwrite (dict "api" (dict "host" (include "filemill.anyAddress" .))) $shared) }}
{{- end }}

{{/* Names of the pools that the controller may make Jobs of, in JSON: the chart's, those that the values name, and those that exist already. */}}
{{- define "filemill.poolNames" -}}
{{- $names := concat (keys .Values.pools) .Values.controller.morePools -}}
{{- if .Capabilities.APIVersions.Has "filemill.io/v1alpha1/ToolchainPool" -}}
{{- $homes := dig "controller" "poolNamespaces" (list .Release.Namespace) .Values.config -}}
{{- range ternary (list "") $homes (has "*" $homes) -}}
{{- range (lookup "filemill.io/v1alpha1" "ToolchainPool" . "").items }}{{ $names = append $names .metadata.name }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $names | uniq | sortAlpha | toJson }}
{{- end }}

{{/* The NATS servers that the controller tells workers of, as the policy compares them: a list of JSON. Any, where variables name them. */}}
{{- define "filemill.workerNats" -}}
{{- $settings := include "filemill.settings" . | fromYaml -}}
{{- $servers := dig "controller" "workerNats" $settings.nats.servers $settings -}}
{{- range concat .Values.pods.env .Values.controller.env }}{{ if and (eq .name "NATS_URL") (not (dig "controller" "workerNats" list $settings)) }}{{ $servers = "*" }}{{ end }}{{ end -}}
{{- list (eq "*" ($servers | toString) | ternary "*" ($servers | toJson)) | toJson }}
{{- end }}
