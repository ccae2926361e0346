#include "sim/kube/field_table.h"

#include <algorithm>
#include <charconv>

namespace berth::sim::kube {

namespace {

// "@package", then messages: a name and its fields, each as name[!][?][:type]=number.
//   !     required                        ?     a pointer in Go: zero counts as set
//   []T   a list of T                     {}T   a map from text to T
//   *     the fields of the message stand in its place
// Types: text when left out or s, i integer, b boolean, t Time, u MicroTime, y bytes, q Quantity,
// x IntOrString, o an object that is not described; else a message of this package or "package.T".
constexpr std::string_view kFields = R"(
@meta
ObjectMeta name=1 generateName=2 namespace=3 uid=5 resourceVersion=6 generation:i=7
  creationTimestamp:t=8 deletionTimestamp?:t=9 deletionGracePeriodSeconds?:i=10 labels:{}s=11
  annotations:{}s=12 ownerReferences:[]OwnerReference=13 finalizers:[]s=14 managedFields:[]o=17
OwnerReference apiVersion!=5 kind!=1 name!=3 uid!=4 controller?:b=6 blockOwnerDeletion?:b=7
LabelSelector matchLabels:{}s=1 matchExpressions:[]LabelSelectorRequirement=2
LabelSelectorRequirement key!=1 operator!=2 values:[]s=3
@core
Namespace metadata:meta.ObjectMeta=1 spec:NamespaceSpec=2 status:o=3
NamespaceSpec finalizers:[]s=1
Pod metadata:meta.ObjectMeta=1 spec:PodSpec=2 status:o=3
PodSpec volumes:[]Volume=1 initContainers:[]Container=20 containers!:[]Container=2 restartPolicy=3
  terminationGracePeriodSeconds?:i=4 activeDeadlineSeconds?:i=5 dnsPolicy=6 nodeSelector:{}s=7
  serviceAccountName=8 automountServiceAccountToken?:b=21 nodeName=10 hostNetwork:b=11
  hostPID:b=12 hostIPC:b=13 securityContext?:PodSecurityContext=14
  imagePullSecrets:[]LocalObjectReference=15 hostname=16 subdomain=17 affinity?:o=18
  schedulerName=19 tolerations:[]Toleration=22 hostAliases:[]o=23 priorityClassName=24
  priority?:i=25 readinessGates:[]PodReadinessGate=28 runtimeClassName?=29
  enableServiceLinks?:b=30 preemptionPolicy?=31 topologySpreadConstraints:[]o=33
Container name!=1 image=2 command:[]s=3 args:[]s=4 workingDir=5 ports:[]ContainerPort=6
  envFrom:[]EnvFromSource=19 env:[]EnvVar=7 resources:ResourceRequirements=8 restartPolicy?=24
  volumeMounts:[]VolumeMount=9 livenessProbe?:Probe=10 readinessProbe?:Probe=11
  startupProbe?:Probe=22 lifecycle?:Lifecycle=12 terminationMessagePath=13
  terminationMessagePolicy=20 imagePullPolicy=14 securityContext?:SecurityContext=15
ContainerPort name=1 hostPort:i=2 containerPort!:i=3 protocol=4 hostIP=5
EnvVar name!=1 value=2 valueFrom?:EnvVarSource=3
EnvVarSource fieldRef?:ObjectFieldSelector=1 resourceFieldRef?:o=2
  configMapKeyRef?:ConfigMapKeySelector=3 secretKeyRef?:SecretKeySelector=4
ObjectFieldSelector apiVersion=1 fieldPath!=2
ConfigMapKeySelector *:LocalObjectReference=1 key!=2 optional?:b=3
SecretKeySelector *:LocalObjectReference=1 key!=2 optional?:b=3
EnvFromSource prefix=1 configMapRef?:ConfigMapEnvSource=2 secretRef?:SecretEnvSource=3
ConfigMapEnvSource *:LocalObjectReference=1 optional?:b=2
SecretEnvSource *:LocalObjectReference=1 optional?:b=2
ResourceRequirements limits:{}q=1 requests:{}q=2
VolumeMount name!=1 readOnly:b=2 mountPath!=3 subPath=4 subPathExpr=6
Volume name!=1 *:VolumeSource=2
VolumeSource hostPath?:HostPathVolumeSource=1 emptyDir?:EmptyDirVolumeSource=2
  secret?:SecretVolumeSource=6 persistentVolumeClaim?:PersistentVolumeClaimVolumeSource=10
  downwardAPI?:o=16 configMap?:ConfigMapVolumeSource=19 projected?:o=26 csi?:o=28
EmptyDirVolumeSource medium=1 sizeLimit?:q=2
HostPathVolumeSource path!=1 type?=2
ConfigMapVolumeSource *:LocalObjectReference=1 items:[]KeyToPath=2 defaultMode?:i=3 optional?:b=4
SecretVolumeSource secretName=1 items:[]KeyToPath=2 defaultMode?:i=3 optional?:b=4
PersistentVolumeClaimVolumeSource claimName!=1 readOnly:b=2
KeyToPath key!=1 path!=2 mode?:i=3
Probe *:ProbeHandler=1 initialDelaySeconds:i=2 timeoutSeconds:i=3 periodSeconds:i=4
  successThreshold:i=5 failureThreshold:i=6 terminationGracePeriodSeconds?:i=7
ProbeHandler exec?:ExecAction=1 httpGet?:HTTPGetAction=2 tcpSocket?:TCPSocketAction=3
  grpc?:GRPCAction=4
ExecAction command:[]s=1
HTTPGetAction path=1 port!:x=2 host=3 scheme=4 httpHeaders:[]HTTPHeader=5
HTTPHeader name!=1 value!=2
TCPSocketAction port!:x=1 host=2
GRPCAction port!:i=1 service?=2
Lifecycle postStart?:LifecycleHandler=1 preStop?:LifecycleHandler=2
LifecycleHandler exec?:ExecAction=1 httpGet?:HTTPGetAction=2 tcpSocket?:TCPSocketAction=3
  sleep?:o=4
SecurityContext capabilities?:o=1 privileged?:b=2 runAsUser?:i=4 runAsGroup?:i=8 runAsNonRoot?:b=5
  readOnlyRootFilesystem?:b=6 allowPrivilegeEscalation?:b=7 seccompProfile?:o=11
PodSecurityContext runAsUser?:i=2 runAsGroup?:i=6 runAsNonRoot?:b=3 supplementalGroups:[]i=4
  fsGroup?:i=5 seccompProfile?:o=10
Toleration key=1 operator=2 value=3 effect=4 tolerationSeconds?:i=5
LocalObjectReference name=1
PodReadinessGate conditionType!=1
PodTemplateSpec metadata:meta.ObjectMeta=1 spec:PodSpec=2
Node metadata:meta.ObjectMeta=1 spec:NodeSpec=2 status:o=3
NodeSpec podCIDR=1 podCIDRs:[]s=7 providerID=3 unschedulable:b=4 taints:[]Taint=5
Taint key!=1 value=2 effect!=3 timeAdded?:t=4
Service metadata:meta.ObjectMeta=1 spec:ServiceSpec=2 status:o=3
ServiceSpec ports:[]ServicePort=1 selector:{}s=2 clusterIP=3 clusterIPs:[]s=18 type=4
  externalIPs:[]s=5 sessionAffinity=7 loadBalancerIP=8 loadBalancerSourceRanges:[]s=9
  externalName=10 externalTrafficPolicy=11 healthCheckNodePort:i=12 publishNotReadyAddresses:b=13
  sessionAffinityConfig?:SessionAffinityConfig=14 ipFamilies:[]s=19 ipFamilyPolicy?=17
  allocateLoadBalancerNodePorts?:b=20 loadBalancerClass?=21 internalTrafficPolicy?=22
  trafficDistribution?=23
ServicePort name=1 protocol=2 appProtocol?=6 port!:i=3 targetPort:x=4 nodePort:i=5
SessionAffinityConfig clientIP?:ClientIPConfig=1
ClientIPConfig timeoutSeconds?:i=1
Endpoints metadata:meta.ObjectMeta=1 subsets:[]EndpointSubset=2
EndpointSubset addresses:[]EndpointAddress=1 notReadyAddresses:[]EndpointAddress=2
  ports:[]EndpointPort=3
EndpointAddress ip!=1 hostname=3 nodeName?=4 targetRef?:ObjectReference=2
EndpointPort name=1 port!:i=2 protocol=3 appProtocol?=4
ObjectReference kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7
ConfigMap metadata:meta.ObjectMeta=1 immutable?:b=4 data:{}s=2 binaryData:{}y=3
Secret metadata:meta.ObjectMeta=1 immutable?:b=5 data:{}y=2 stringData:{}s=4 type=3
ServiceAccount metadata:meta.ObjectMeta=1 secrets:[]ObjectReference=2
  imagePullSecrets:[]LocalObjectReference=3 automountServiceAccountToken?:b=4
Event metadata!:meta.ObjectMeta=1 involvedObject!:ObjectReference=2 reason=3 message=4
  source:EventSource=5 firstTimestamp:t=6 lastTimestamp:t=7 count:i=8 type=9 eventTime:u=10
  series?:EventSeries=11 action=12 related?:ObjectReference=13 reportingComponent=14
  reportingInstance=15
EventSource component=1 host=2
EventSeries count:i=1 lastObservedTime:u=2
@apps
Deployment metadata:meta.ObjectMeta=1 spec:DeploymentSpec=2 status:o=3
DeploymentSpec replicas?:i=1 selector!?:meta.LabelSelector=2 template!:core.PodTemplateSpec=3
  strategy:DeploymentStrategy=4 minReadySeconds:i=5 revisionHistoryLimit?:i=6 paused:b=7
  progressDeadlineSeconds?:i=9
DeploymentStrategy type=1 rollingUpdate?:RollingUpdateDeployment=2
RollingUpdateDeployment maxUnavailable?:x=1 maxSurge?:x=2
ReplicaSet metadata:meta.ObjectMeta=1 spec:ReplicaSetSpec=2 status:o=3
ReplicaSetSpec replicas?:i=1 minReadySeconds:i=4 selector!?:meta.LabelSelector=2
  template:core.PodTemplateSpec=3
StatefulSet metadata:meta.ObjectMeta=1 spec:StatefulSetSpec=2 status:o=3
StatefulSetSpec replicas?:i=1 selector!?:meta.LabelSelector=2 template!:core.PodTemplateSpec=3
  volumeClaimTemplates:[]o=4 serviceName=5 podManagementPolicy=6
  updateStrategy:StatefulSetUpdateStrategy=7 revisionHistoryLimit?:i=8 minReadySeconds:i=9
  persistentVolumeClaimRetentionPolicy?:StatefulSetPersistentVolumeClaimRetentionPolicy=10
  ordinals?:o=11
StatefulSetUpdateStrategy type=1 rollingUpdate?:RollingUpdateStatefulSetStrategy=2
RollingUpdateStatefulSetStrategy partition?:i=1 maxUnavailable?:x=2
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted=1 whenScaled=2
@networking
Ingress metadata:meta.ObjectMeta=1 spec:IngressSpec=2 status:o=3
IngressSpec ingressClassName?=4 defaultBackend?:IngressBackend=1 tls:[]IngressTLS=2
  rules:[]IngressRule=3
IngressTLS hosts:[]s=1 secretName=2
IngressRule host=1 *:IngressRuleValue=2
IngressRuleValue http?:HTTPIngressRuleValue=1
HTTPIngressRuleValue paths!:[]HTTPIngressPath=1
HTTPIngressPath path=1 pathType!?=3 backend!:IngressBackend=2
IngressBackend service?:IngressServiceBackend=4
IngressServiceBackend name!=1 port:ServiceBackendPort=2
ServiceBackendPort name=1 number:i=2
IngressClass metadata:meta.ObjectMeta=1 spec:IngressClassSpec=2
IngressClassSpec controller=1 parameters?:o=2
@discovery
EndpointSlice metadata:meta.ObjectMeta=1 addressType!=4 endpoints:[]Endpoint=2
  ports:[]EndpointPort=3
Endpoint addresses!:[]s=1 conditions:EndpointConditions=2 hostname?=3
  targetRef?:core.ObjectReference=4 nodeName?=6 zone?=7 hints?:o=8
EndpointConditions ready?:b=1 serving?:b=2 terminating?:b=3
EndpointPort name?=1 protocol?=2 port?:i=3 appProtocol?=4
@coordination
Lease metadata:meta.ObjectMeta=1 spec:LeaseSpec=2
LeaseSpec holderIdentity?=1 leaseDurationSeconds?:i=2 acquireTime?:u=3 renewTime?:u=4
  leaseTransitions?:i=5
@events
Event metadata:meta.ObjectMeta=1 eventTime!:u=2 series?:EventSeries=3 reportingController=4
  reportingInstance=5 action=6 reason=7 regarding:core.ObjectReference=8
  related?:core.ObjectReference=9 note=10 type=11 deprecatedSource:core.EventSource=12
  deprecatedFirstTimestamp:t=13 deprecatedLastTimestamp:t=14 deprecatedCount:i=15
EventSeries count!:i=1 lastObservedTime!:u=2
@admissionregistration
MutatingWebhookConfiguration metadata:meta.ObjectMeta=1 webhooks:[]MutatingWebhook=2
MutatingWebhook name!=1 clientConfig!:WebhookClientConfig=2 rules:[]RuleWithOperations=3
  failurePolicy?=4 matchPolicy?=9 namespaceSelector?:meta.LabelSelector=5
  objectSelector?:meta.LabelSelector=11 sideEffects!?=6 timeoutSeconds?:i=7
  admissionReviewVersions!:[]s=8 reinvocationPolicy?=10 matchConditions:[]MatchCondition=12
ValidatingWebhookConfiguration metadata:meta.ObjectMeta=1 webhooks:[]ValidatingWebhook=2
ValidatingWebhook name!=1 clientConfig!:WebhookClientConfig=2 rules:[]RuleWithOperations=3
  failurePolicy?=4 matchPolicy?=9 namespaceSelector?:meta.LabelSelector=5
  objectSelector?:meta.LabelSelector=10 sideEffects!?=6 timeoutSeconds?:i=7
  admissionReviewVersions!:[]s=8 matchConditions:[]MatchCondition=11
WebhookClientConfig url?=3 service?:ServiceReference=1 caBundle:y=2
ServiceReference namespace!=1 name!=2 path?=3 port?:i=4
RuleWithOperations operations:[]s=1 *:Rule=2
Rule apiGroups:[]s=1 apiVersions:[]s=2 resources:[]s=3 scope?=4
MatchCondition name!=1 expression!=2
@rbac
Role metadata:meta.ObjectMeta=1 rules:[]PolicyRule=2
RoleBinding metadata:meta.ObjectMeta=1 subjects:[]Subject=2 roleRef!:RoleRef=3
ClusterRole metadata:meta.ObjectMeta=1 rules:[]PolicyRule=2 aggregationRule?:o=3
ClusterRoleBinding metadata:meta.ObjectMeta=1 subjects:[]Subject=2 roleRef!:RoleRef=3
PolicyRule verbs!:[]s=1 apiGroups:[]s=2 resources:[]s=3 resourceNames:[]s=4 nonResourceURLs:[]s=5
RoleRef apiGroup=1 kind!=2 name!=3
Subject kind!=1 apiGroup=2 name!=3 namespace=4
@flowcontrol
FlowSchema metadata:meta.ObjectMeta=1 spec:o=2 status:o=3
PriorityLevelConfiguration metadata:meta.ObjectMeta=1 spec:o=2 status:o=3
@apiextensions
CustomResourceDefinition metadata:meta.ObjectMeta=1 spec!:CustomResourceDefinitionSpec=2
  status:o=3
CustomResourceDefinitionSpec group!=1 names!:CustomResourceDefinitionNames=3 scope!=4
  versions!:[]CustomResourceDefinitionVersion=7 conversion?:o=9 preserveUnknownFields:b=10
CustomResourceDefinitionNames plural!=1 singular=2 shortNames:[]s=3 kind!=4 listKind=5
  categories:[]s=6
CustomResourceDefinitionVersion name!=1 served!:b=2 storage!:b=3 deprecated:b=7
  deprecationWarning?=8 schema?:o=4 subresources?:CustomResourceSubresources=5
  additionalPrinterColumns:[]CustomResourceColumnDefinition=6 selectableFields:[]o=9
CustomResourceColumnDefinition name!=1 type!=2 format=3 description=4 priority:i=5 jsonPath!=6
CustomResourceSubresources status?:o=1 scale?:CustomResourceSubresourceScale=2
CustomResourceSubresourceScale specReplicasPath!=1 statusReplicasPath!=2 labelSelectorPath?=3
@autoscaling
Scale metadata:meta.ObjectMeta=1 spec:ScaleSpec=2 status:ScaleStatus=3
ScaleSpec replicas:i=1
ScaleStatus replicas!:i=1 selector=2
@authorization
SelfSubjectAccessReview metadata:meta.ObjectMeta=1 spec:SelfSubjectAccessReviewSpec=2 status:o=3
SelfSubjectAccessReviewSpec resourceAttributes?:ResourceAttributes=1
  nonResourceAttributes?:NonResourceAttributes=2
ResourceAttributes namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7
NonResourceAttributes path=1 verb=2
SelfSubjectRulesReview metadata:meta.ObjectMeta=1 spec:SelfSubjectRulesReviewSpec=2 status:o=3
SelfSubjectRulesReviewSpec namespace=1
@authentication
SelfSubjectReview metadata:meta.ObjectMeta=1 status:o=2
)";

std::string_view next_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(word.size());
  return word;
}

bool take_suffix(std::string_view& text, char mark) {
  if (!text.ends_with(mark)) return false;
  text.remove_suffix(1);
  return true;
}

bool take_prefix(std::string_view& text, std::string_view mark) {
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(mark.size());
  return true;
}

FieldType scalar_of(char letter) {
  switch (letter) {
    case 'i': return FieldType::integer;
    case 'b': return FieldType::boolean;
    case 't': return FieldType::time;
    case 'u': return FieldType::micro_time;
    case 'y': return FieldType::bytes;
    case 'q': return FieldType::quantity;
    case 'x': return FieldType::int_or_string;
    case 'o': return FieldType::opaque;
    default: return FieldType::text;
  }
}

Field field_of(std::string_view word, std::string_view package, FieldTable& table) {
  Field field;
  const std::size_t equals = word.rfind('=');
  std::from_chars(word.data() + equals + 1, word.data() + word.size(), field.number);
  word = word.substr(0, equals);
  const std::size_t colon = std::min(word.find(':'), word.size());
  std::string_view type = colon == word.size() ? "s" : word.substr(colon + 1);
  word = word.substr(0, colon);
  field.keeps_zero = take_suffix(word, '?');
  field.required = take_suffix(word, '!');
  field.inlined = word == "*";
  field.name = word;
  field.list = take_prefix(type, "[]");
  field.map = take_prefix(type, "{}");
  if (type.size() == 1) {
    field.type = scalar_of(type.front());
    return field;
  }
  field.type = FieldType::message;
  std::string full(type);
  if (type.find('.') == std::string_view::npos) full.insert(0, std::string(package) + ".");
  field.message = &table[full];  // a map's elements stay where they are
  return field;
}

FieldTable parse_table() {
  FieldTable table;
  std::string_view rest = kFields;
  std::string_view package;
  Message* message = nullptr;
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
    if (take_prefix(word, "@")) {
      package = word;
    } else if (word.find('=') == std::string_view::npos) {
      std::string name = std::string(package) + "." + std::string(word);
      message = &table[name];
      message->name = std::move(name);
    } else {
      message->fields.push_back(field_of(word, package, table));
    }
  }
  return table;
}

}  // namespace

const FieldTable& field_table() {
  static const FieldTable kTable = parse_table();
  return kTable;
}

const Message* message_of(std::string_view group, std::string_view version, std::string_view kind) {
  if (version != "v1") return nullptr;
  const std::string_view package = group.empty() ? "core" : group.substr(0, group.find('.'));
  const auto found = field_table().find(std::string(package) + "." + std::string(kind));
  return found == field_table().end() ? nullptr : &found->second;
}

}  // namespace berth::sim::kube
