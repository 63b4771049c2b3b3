{{- /* What the selectors of the Deployment, the Service and the ServiceMonitor name. */}}
{{- define "ken.selector" -}}
app.kubernetes.io/name: ken
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ken.labels" -}}
{{ include "ken.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
