// Written by tools/kube-fields from k8s.io/api v0.36.4; not by hand.
#include "sim/kube/field_table.h"

namespace berth::sim::kube {

const std::string_view kBuiltinFields = R"(
@meta
ObjectMeta name=1 generateName=2 namespace=3 selfLink=4 uid=5 resourceVersion=6 generation:i=7
  creationTimestamp:t=8 deletionTimestamp?:t=9 deletionGracePeriodSeconds?:i=10 labels:{}s=11
  annotations:{}s=12 ownerReferences:[]OwnerReference=13 finalizers:[]s=14
  managedFields:[]ManagedFieldsEntry=17
LabelSelector matchLabels:{}s=1 matchExpressions:[]LabelSelectorRequirement=2
DeleteOptions gracePeriodSeconds?:i=1 preconditions?:Preconditions=2 orphanDependents?:b=3
  propagationPolicy?=4 dryRun:[]s=5 ignoreStoreReadErrorWithClusterBreakingPotential?:b=6
OwnerReference apiVersion!=5 kind!=1 name!=3 uid!=4 controller?:b=6 blockOwnerDeletion?:b=7
ManagedFieldsEntry manager=1 operation=2 apiVersion=3 time?:t=4 fieldsType=6 fieldsV1?:r=7
  subresource=8
LabelSelectorRequirement key!=1 operator!=2 values:[]s=3
Preconditions uid?=1 resourceVersion?=2
Condition type!=1 status!=2 observedGeneration:i=3 lastTransitionTime!:t=4 reason!=5 message!=6
FieldSelectorRequirement key!=1 operator!=2 values:[]s=3
@core
Namespace metadata:meta.ObjectMeta=1 spec:NamespaceSpec=2 status:NamespaceStatus=3
Pod metadata:meta.ObjectMeta=1 spec:PodSpec=2 status:PodStatus=3
Node metadata:meta.ObjectMeta=1 spec:NodeSpec=2 status:NodeStatus=3
Service metadata:meta.ObjectMeta=1 spec:ServiceSpec=2 status:ServiceStatus=3
Endpoints metadata:meta.ObjectMeta=1 subsets:[]EndpointSubset=2
ConfigMap metadata:meta.ObjectMeta=1 immutable?:b=4 data:{}s=2 binaryData:{}y=3
Secret metadata:meta.ObjectMeta=1 immutable?:b=5 data:{}y=2 stringData:{}s=4 type=3
ServiceAccount metadata:meta.ObjectMeta=1 secrets:[]ObjectReference=2
  imagePullSecrets:[]LocalObjectReference=3 automountServiceAccountToken?:b=4
Event metadata!:meta.ObjectMeta=1 involvedObject!:ObjectReference=2 reason=3 message=4
  source:EventSource=5 firstTimestamp:t=6 lastTimestamp:t=7 count:i=8 type=9 eventTime:u=10
  series?:EventSeries=11 action=12 related?:ObjectReference=13 reportingComponent?=14
  reportingInstance?=15
Binding metadata:meta.ObjectMeta=1 target!:ObjectReference=2
NamespaceSpec finalizers:[]s=1
NamespaceStatus phase=1 conditions:[]NamespaceCondition=2
PodSpec volumes:[]Volume=1 initContainers:[]Container=20 containers!:[]Container=2
  ephemeralContainers:[]EphemeralContainer=34 restartPolicy=3 terminationGracePeriodSeconds?:i=4
  activeDeadlineSeconds?:i=5 dnsPolicy=6 nodeSelector:{}s=7 serviceAccountName=8 serviceAccount=9
  automountServiceAccountToken?:b=21 nodeName=10 hostNetwork:b=11 hostPID:b=12 hostIPC:b=13
  shareProcessNamespace?:b=27 securityContext?:PodSecurityContext=14
  imagePullSecrets:[]LocalObjectReference=15 hostname=16 subdomain=17 affinity?:Affinity=18
  schedulerName=19 tolerations:[]Toleration=22 hostAliases:[]HostAlias=23 priorityClassName=24
  priority?:i=25 dnsConfig?:PodDNSConfig=26 readinessGates:[]PodReadinessGate=28
  runtimeClassName?=29 enableServiceLinks?:b=30 preemptionPolicy?=31 overhead:{}q=32
  topologySpreadConstraints:[]TopologySpreadConstraint=33 setHostnameAsFQDN?:b=35 os?:PodOS=36
  hostUsers?:b=37 schedulingGates:[]PodSchedulingGate=38 resourceClaims:[]PodResourceClaim=39
  resources?:ResourceRequirements=40 hostnameOverride?=41 schedulingGroup?:PodSchedulingGroup=43
PodStatus observedGeneration:i=17 phase=1 conditions:[]PodCondition=2 message=3 reason=4
  nominatedNodeName=11 hostIP=5 hostIPs:[]HostIP=16 podIP=6 podIPs:[]PodIP=12 startTime?:t=7
  initContainerStatuses:[]ContainerStatus=10 containerStatuses:[]ContainerStatus=8 qosClass=9
  ephemeralContainerStatuses:[]ContainerStatus=13 resize=14
  resourceClaimStatuses:[]PodResourceClaimStatus=15
  extendedResourceClaimStatus?:PodExtendedResourceClaimStatus=18 allocatedResources:{}q=19
  resources?:ResourceRequirements=20
  nodeAllocatableResourceClaimStatuses:[]NodeAllocatableResourceClaimStatus=21
NodeSpec podCIDR=1 podCIDRs:[]s=7 providerID=3 unschedulable:b=4 taints:[]Taint=5
  configSource?:NodeConfigSource=6 externalID=2
NodeStatus capacity:{}q=1 allocatable:{}q=2 phase=3 conditions:[]NodeCondition=4
  addresses:[]NodeAddress=5 daemonEndpoints:NodeDaemonEndpoints=6 nodeInfo:NodeSystemInfo=7
  images:[]ContainerImage=8 volumesInUse:[]s=9 volumesAttached:[]AttachedVolume=10 config?:o=11
  runtimeHandlers:[]NodeRuntimeHandler=12 features?:NodeFeatures=13 declaredFeatures:[]s=14
ServiceSpec ports:[]ServicePort=1 selector:{}s=2 clusterIP=3 clusterIPs:[]s=18 type=4
  externalIPs:[]s=5 sessionAffinity=7 loadBalancerIP=8 loadBalancerSourceRanges:[]s=9
  externalName=10 externalTrafficPolicy=11 healthCheckNodePort:i=12 publishNotReadyAddresses:b=13
  sessionAffinityConfig?:SessionAffinityConfig=14 ipFamilies:[]s=19 ipFamilyPolicy?=17
  allocateLoadBalancerNodePorts?:b=20 loadBalancerClass?=21 internalTrafficPolicy?=22
  trafficDistribution?=23
ServiceStatus loadBalancer:LoadBalancerStatus=1 conditions:[]meta.Condition=2
EndpointSubset addresses:[]EndpointAddress=1 notReadyAddresses:[]EndpointAddress=2
  ports:[]EndpointPort=3
ObjectReference kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7
LocalObjectReference name=1
EventSource component=1 host=2
EventSeries count:i=1 lastObservedTime:u=2
NamespaceCondition type!=1 status!=2 lastTransitionTime:t=4 reason=5 message=6
Volume name!=1 *:VolumeSource=2
Container name!=1 image=2 command:[]s=3 args:[]s=4 workingDir=5 ports:[]ContainerPort=6
  envFrom:[]EnvFromSource=19 env:[]EnvVar=7 resources:ResourceRequirements=8
  resizePolicy:[]ContainerResizePolicy=23 restartPolicy?=24
  restartPolicyRules:[]ContainerRestartRule=25 volumeMounts:[]VolumeMount=9
  volumeDevices:[]VolumeDevice=21 livenessProbe?:Probe=10 readinessProbe?:Probe=11
  startupProbe?:Probe=22 lifecycle?:Lifecycle=12 terminationMessagePath=13
  terminationMessagePolicy=20 imagePullPolicy=14 securityContext?:SecurityContext=15 stdin:b=16
  stdinOnce:b=17 tty:b=18
EphemeralContainer *:EphemeralContainerCommon=1 targetContainerName=2
PodSecurityContext seLinuxOptions?:SELinuxOptions=1 windowsOptions?:WindowsSecurityContextOptions=8
  runAsUser?:i=2 runAsGroup?:i=6 runAsNonRoot?:b=3 supplementalGroups:[]i=4
  supplementalGroupsPolicy?=12 fsGroup?:i=5 sysctls:[]Sysctl=7 fsGroupChangePolicy?=9
  seccompProfile?:SeccompProfile=10 appArmorProfile?:AppArmorProfile=11 seLinuxChangePolicy?=13
Affinity nodeAffinity?:NodeAffinity=1 podAffinity?:PodAffinity=2 podAntiAffinity?:PodAntiAffinity=3
Toleration key=1 operator=2 value=3 effect=4 tolerationSeconds?:i=5
HostAlias ip!=1 hostnames:[]s=2
PodDNSConfig nameservers:[]s=1 searches:[]s=2 options:[]PodDNSConfigOption=3
PodReadinessGate conditionType!=1
TopologySpreadConstraint maxSkew!:i=1 topologyKey!=2 whenUnsatisfiable!=3
  labelSelector?:meta.LabelSelector=4 minDomains?:i=5 nodeAffinityPolicy?=6 nodeTaintsPolicy?=7
  matchLabelKeys:[]s=8
PodOS name!=1
PodSchedulingGate name!=1
PodResourceClaim name!=1 resourceClaimName?=3 resourceClaimTemplateName?=4
ResourceRequirements limits:{}q=1 requests:{}q=2 claims:[]ResourceClaim=3
PodSchedulingGroup podGroupName?=1
PodCondition type!=1 observedGeneration:i=7 status!=2 lastProbeTime:t=3 lastTransitionTime:t=4
  reason=5 message=6
HostIP ip!=1
PodIP ip!=1
ContainerStatus name!=1 state:ContainerState=2 lastState:ContainerState=3 ready!:b=4
  restartCount!:i=5 image!=6 imageID!=7 containerID=8 started?:b=9 allocatedResources:{}q=10
  resources?:ResourceRequirements=11 volumeMounts:[]VolumeMountStatus=12 user?:ContainerUser=13
  allocatedResourcesStatus:[]ResourceStatus=14 stopSignal?=15
PodResourceClaimStatus name!=1 resourceClaimName?=2
PodExtendedResourceClaimStatus requestMappings!:[]ContainerExtendedResourceRequest=1
  resourceClaimName!=2
NodeAllocatableResourceClaimStatus resourceClaimName!=1 containers:[]s=2 resources!:{}q=3
Taint key!=1 value=2 effect!=3 timeAdded?:t=4
NodeConfigSource configMap?:ConfigMapNodeConfigSource=2
NodeCondition type!=1 status!=2 lastHeartbeatTime:t=3 lastTransitionTime:t=4 reason=5 message=6
NodeAddress type!=1 address!=2
NodeDaemonEndpoints kubeletEndpoint:DaemonEndpoint=1
NodeSystemInfo machineID!=1 systemUUID!=2 bootID!=3 kernelVersion!=4 osImage!=5
  containerRuntimeVersion!=6 kubeletVersion!=7 kubeProxyVersion!=8 operatingSystem!=9
  architecture!=10 swap?:NodeSwapStatus=11
ContainerImage names:[]s=1 sizeBytes:i=2
AttachedVolume name!=1 devicePath!=2
NodeRuntimeHandler name?=1 features?:NodeRuntimeHandlerFeatures=2
NodeFeatures supplementalGroupsPolicy?:b=1
ServicePort name=1 protocol=2 appProtocol?=6 port!:i=3 targetPort:x=4 nodePort:i=5
SessionAffinityConfig clientIP?:ClientIPConfig=1
LoadBalancerStatus ingress:[]LoadBalancerIngress=1
EndpointAddress ip!=1 hostname=3 nodeName?=4 targetRef?:ObjectReference=2
EndpointPort name=1 port!:i=2 protocol=3 appProtocol?=4
PodTemplateSpec metadata:meta.ObjectMeta=1 spec:PodSpec=2
PersistentVolumeClaim metadata:meta.ObjectMeta=1 spec:PersistentVolumeClaimSpec=2
  status:PersistentVolumeClaimStatus=3
VolumeSource hostPath?:HostPathVolumeSource=1 emptyDir?:EmptyDirVolumeSource=2
  gcePersistentDisk?:o=3 awsElasticBlockStore?:o=4 gitRepo?:o=5 secret?:SecretVolumeSource=6
  nfs?:NFSVolumeSource=7 iscsi?:o=8 glusterfs?:o=9
  persistentVolumeClaim?:PersistentVolumeClaimVolumeSource=10 rbd?:o=11 flexVolume?:o=12
  cinder?:o=13 cephfs?:o=14 flocker?:o=15 downwardAPI?:DownwardAPIVolumeSource=16 fc?:o=17
  azureFile?:o=18 configMap?:ConfigMapVolumeSource=19 vsphereVolume?:o=20 quobyte?:o=21
  azureDisk?:o=22 photonPersistentDisk?:o=23 projected?:ProjectedVolumeSource=26
  portworxVolume?:o=24 scaleIO?:o=25 storageos?:o=27 csi?:CSIVolumeSource=28
  ephemeral?:EphemeralVolumeSource=29 image?:ImageVolumeSource=30
ContainerPort name=1 hostPort:i=2 containerPort!:i=3 protocol=4 hostIP=5
EnvFromSource prefix=1 configMapRef?:ConfigMapEnvSource=2 secretRef?:SecretEnvSource=3
EnvVar name!=1 value=2 valueFrom?:EnvVarSource=3
ContainerResizePolicy resourceName!=1 restartPolicy!=2
ContainerRestartRule action=1 exitCodes?:ContainerRestartRuleOnExitCodes=2
VolumeMount name!=1 readOnly:b=2 recursiveReadOnly?=7 mountPath!=3 subPath=4 mountPropagation?=5
  subPathExpr=6
VolumeDevice name!=1 devicePath!=2
Probe *:ProbeHandler=1 initialDelaySeconds:i=2 timeoutSeconds:i=3 periodSeconds:i=4
  successThreshold:i=5 failureThreshold:i=6 terminationGracePeriodSeconds?:i=7
Lifecycle postStart?:LifecycleHandler=1 preStop?:LifecycleHandler=2 stopSignal?=3
SecurityContext capabilities?:Capabilities=1 privileged?:b=2 seLinuxOptions?:SELinuxOptions=3
  windowsOptions?:WindowsSecurityContextOptions=10 runAsUser?:i=4 runAsGroup?:i=8 runAsNonRoot?:b=5
  readOnlyRootFilesystem?:b=6 allowPrivilegeEscalation?:b=7 procMount?=9
  seccompProfile?:SeccompProfile=11 appArmorProfile?:AppArmorProfile=12
EphemeralContainerCommon name!=1 image=2 command:[]s=3 args:[]s=4 workingDir=5
  ports:[]ContainerPort=6 envFrom:[]EnvFromSource=19 env:[]EnvVar=7 resources:ResourceRequirements=8
  resizePolicy:[]ContainerResizePolicy=23 restartPolicy?=24
  restartPolicyRules:[]ContainerRestartRule=25 volumeMounts:[]VolumeMount=9
  volumeDevices:[]VolumeDevice=21 livenessProbe?:Probe=10 readinessProbe?:Probe=11
  startupProbe?:Probe=22 lifecycle?:Lifecycle=12 terminationMessagePath=13
  terminationMessagePolicy=20 imagePullPolicy=14 securityContext?:SecurityContext=15 stdin:b=16
  stdinOnce:b=17 tty:b=18
SELinuxOptions user=1 role=2 type=3 level=4
WindowsSecurityContextOptions gmsaCredentialSpecName?=1 gmsaCredentialSpec?=2 runAsUserName?=3
  hostProcess?:b=4
Sysctl name!=1 value!=2
SeccompProfile type!=1 localhostProfile?=2
AppArmorProfile type!=1 localhostProfile?=2
NodeAffinity requiredDuringSchedulingIgnoredDuringExecution?:NodeSelector=1
  preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm=2
PodAffinity requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm=1
  preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm=2
PodAntiAffinity requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm=1
  preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm=2
PodDNSConfigOption name=1 value?=2
ResourceClaim name!=1 request=2
ContainerState waiting?:ContainerStateWaiting=1 running?:ContainerStateRunning=2
  terminated?:ContainerStateTerminated=3
VolumeMountStatus name!=1 mountPath!=2 readOnly:b=3 recursiveReadOnly?=4
  volumeStatus?:VolumeStatus=5
ContainerUser linux?:LinuxContainerUser=1
ResourceStatus name!=1 resources:[]ResourceHealth=2
ContainerExtendedResourceRequest containerName!=1 resourceName!=2 requestName!=3
ConfigMapNodeConfigSource namespace!=1 name!=2 uid=3 resourceVersion=4 kubeletConfigKey!=5
DaemonEndpoint Port!:i=1
NodeSwapStatus capacity?:i=1
NodeRuntimeHandlerFeatures recursiveReadOnlyMounts?:b=1 userNamespaces?:b=2
ClientIPConfig timeoutSeconds?:i=1
LoadBalancerIngress ip=1 hostname=2 ipMode?=3 ports:[]PortStatus=4
PersistentVolumeClaimSpec accessModes:[]s=1 selector?:meta.LabelSelector=4
  resources:VolumeResourceRequirements=2 volumeName=3 storageClassName?=5 volumeMode?=6
  dataSource?:TypedLocalObjectReference=7 dataSourceRef?:TypedObjectReference=8
  volumeAttributesClassName?=9
PersistentVolumeClaimStatus phase=1 accessModes:[]s=2 capacity:{}q=3
  conditions:[]PersistentVolumeClaimCondition=4 allocatedResources:{}q=5
  allocatedResourceStatuses:{}s=7 currentVolumeAttributesClassName?=8
  modifyVolumeStatus?:ModifyVolumeStatus=9
TypedLocalObjectReference apiGroup?=1 kind!=2 name!=3
HostPathVolumeSource path!=1 type?=2
EmptyDirVolumeSource medium=1 sizeLimit?:q=2
SecretVolumeSource secretName=1 items:[]KeyToPath=2 defaultMode?:i=3 optional?:b=4
NFSVolumeSource server!=1 path!=2 readOnly:b=3
PersistentVolumeClaimVolumeSource claimName!=1 readOnly:b=2
DownwardAPIVolumeSource items:[]DownwardAPIVolumeFile=1 defaultMode?:i=2
ConfigMapVolumeSource *:LocalObjectReference=1 items:[]KeyToPath=2 defaultMode?:i=3 optional?:b=4
ProjectedVolumeSource sources:[]VolumeProjection=1 defaultMode?:i=2
CSIVolumeSource driver!=1 readOnly?:b=2 fsType?=3 volumeAttributes:{}s=4
  nodePublishSecretRef?:LocalObjectReference=5
EphemeralVolumeSource volumeClaimTemplate?:PersistentVolumeClaimTemplate=1
ImageVolumeSource reference=1 pullPolicy=2
ConfigMapEnvSource *:LocalObjectReference=1 optional?:b=2
SecretEnvSource *:LocalObjectReference=1 optional?:b=2
EnvVarSource fieldRef?:ObjectFieldSelector=1 resourceFieldRef?:ResourceFieldSelector=2
  configMapKeyRef?:ConfigMapKeySelector=3 secretKeyRef?:SecretKeySelector=4
  fileKeyRef?:FileKeySelector=5
ContainerRestartRuleOnExitCodes operator=1 values:[]i=2
ProbeHandler exec?:ExecAction=1 httpGet?:HTTPGetAction=2 tcpSocket?:TCPSocketAction=3
  grpc?:GRPCAction=4
LifecycleHandler exec?:ExecAction=1 httpGet?:HTTPGetAction=2 tcpSocket?:TCPSocketAction=3
  sleep?:SleepAction=4
Capabilities add:[]s=1 drop:[]s=2
NodeSelector nodeSelectorTerms!:[]NodeSelectorTerm=1
PreferredSchedulingTerm weight!:i=1 preference!:NodeSelectorTerm=2
PodAffinityTerm labelSelector?:meta.LabelSelector=1 namespaces:[]s=2 topologyKey!=3
  namespaceSelector?:meta.LabelSelector=4 matchLabelKeys:[]s=5 mismatchLabelKeys:[]s=6
WeightedPodAffinityTerm weight!:i=1 podAffinityTerm!:PodAffinityTerm=2
ContainerStateWaiting reason=1 message=2
ContainerStateRunning startedAt:t=1
ContainerStateTerminated exitCode!:i=1 signal:i=2 reason=3 message=4 startedAt:t=5 finishedAt:t=6
  containerID=7
VolumeStatus image?:ImageVolumeStatus=1
LinuxContainerUser uid!:i=1 gid!:i=2 supplementalGroups:[]i=3
ResourceHealth resourceID!=1 health=2 message?=6
PortStatus port!:i=1 protocol!=2 error?=3
VolumeResourceRequirements limits:{}q=1 requests:{}q=2
TypedObjectReference apiGroup?=1 kind!=2 name!=3 namespace?=4
PersistentVolumeClaimCondition type!=1 status!=2 lastProbeTime:t=3 lastTransitionTime:t=4 reason=5
  message=6
ModifyVolumeStatus targetVolumeAttributesClassName=1 status!=2
KeyToPath key!=1 path!=2 mode?:i=3
DownwardAPIVolumeFile path!=1 fieldRef?:ObjectFieldSelector=2
  resourceFieldRef?:ResourceFieldSelector=3 mode?:i=4
VolumeProjection secret?:SecretProjection=1 downwardAPI?:DownwardAPIProjection=2
  configMap?:ConfigMapProjection=3 serviceAccountToken?:ServiceAccountTokenProjection=4
  clusterTrustBundle?:ClusterTrustBundleProjection=5 podCertificate?:PodCertificateProjection=6
PersistentVolumeClaimTemplate metadata:meta.ObjectMeta=1 spec!:PersistentVolumeClaimSpec=2
ObjectFieldSelector apiVersion=1 fieldPath!=2
ResourceFieldSelector containerName=1 resource!=2 divisor:q=3
ConfigMapKeySelector *:LocalObjectReference=1 key!=2 optional?:b=3
SecretKeySelector *:LocalObjectReference=1 key!=2 optional?:b=3
FileKeySelector volumeName!=1 path!=2 key!=3 optional?:b=4
ExecAction command:[]s=1
HTTPGetAction path=1 port!:x=2 host=3 scheme=4 httpHeaders:[]HTTPHeader=5
TCPSocketAction port!:x=1 host=2
GRPCAction port!:i=1 service?=2
SleepAction seconds!:i=1
NodeSelectorTerm matchExpressions:[]NodeSelectorRequirement=1
  matchFields:[]NodeSelectorRequirement=2
ImageVolumeStatus imageRef=1
SecretProjection *:LocalObjectReference=1 items:[]KeyToPath=2 optional?:b=4
DownwardAPIProjection items:[]DownwardAPIVolumeFile=1
ConfigMapProjection *:LocalObjectReference=1 items:[]KeyToPath=2 optional?:b=4
ServiceAccountTokenProjection audience=1 expirationSeconds?:i=2 path!=3
ClusterTrustBundleProjection name?=1 signerName?=2 labelSelector?:meta.LabelSelector=3 optional?:b=5
  path!=4
PodCertificateProjection signerName=1 keyType=2 maxExpirationSeconds?:i=3 credentialBundlePath=4
  keyPath=5 certificateChainPath=6 userAnnotations:{}s=7
HTTPHeader name!=1 value!=2
NodeSelectorRequirement key!=1 operator!=2 values:[]s=3
@apps
Deployment metadata:meta.ObjectMeta=1 spec:DeploymentSpec=2 status:DeploymentStatus=3
ReplicaSet metadata:meta.ObjectMeta=1 spec:ReplicaSetSpec=2 status:ReplicaSetStatus=3
StatefulSet metadata:meta.ObjectMeta=1 spec:StatefulSetSpec=2 status:StatefulSetStatus=3
ControllerRevision metadata:meta.ObjectMeta=1 data:r=2 revision!:i=3
DeploymentSpec replicas?:i=1 selector!?:meta.LabelSelector=2 template!:core.PodTemplateSpec=3
  strategy:DeploymentStrategy=4 minReadySeconds:i=5 revisionHistoryLimit?:i=6 paused:b=7
  progressDeadlineSeconds?:i=9
DeploymentStatus observedGeneration:i=1 replicas:i=2 updatedReplicas:i=3 readyReplicas:i=7
  availableReplicas:i=4 unavailableReplicas:i=5 terminatingReplicas?:i=9
  conditions:[]DeploymentCondition=6 collisionCount?:i=8
ReplicaSetSpec replicas?:i=1 minReadySeconds:i=4 selector!?:meta.LabelSelector=2
  template:core.PodTemplateSpec=3
ReplicaSetStatus replicas!:i=1 fullyLabeledReplicas:i=2 readyReplicas:i=4 availableReplicas:i=5
  terminatingReplicas?:i=7 observedGeneration:i=3 conditions:[]ReplicaSetCondition=6
StatefulSetSpec replicas?:i=1 selector!?:meta.LabelSelector=2 template!:core.PodTemplateSpec=3
  volumeClaimTemplates:[]core.PersistentVolumeClaim=4 serviceName?=5 podManagementPolicy=6
  updateStrategy:StatefulSetUpdateStrategy=7 revisionHistoryLimit?:i=8 minReadySeconds:i=9
  persistentVolumeClaimRetentionPolicy?:StatefulSetPersistentVolumeClaimRetentionPolicy=10
  ordinals?:StatefulSetOrdinals=11
StatefulSetStatus observedGeneration:i=1 replicas!:i=2 readyReplicas:i=3 currentReplicas:i=4
  updatedReplicas:i=5 currentRevision=6 updateRevision=7 collisionCount?:i=9
  conditions:[]StatefulSetCondition=10 availableReplicas?:i=11
DeploymentStrategy type=1 rollingUpdate?:RollingUpdateDeployment=2
DeploymentCondition type!=1 status!=2 lastUpdateTime:t=6 lastTransitionTime:t=7 reason=4 message=5
ReplicaSetCondition type!=1 status!=2 lastTransitionTime:t=3 reason=4 message=5
StatefulSetUpdateStrategy type=1 rollingUpdate?:RollingUpdateStatefulSetStrategy=2
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted=1 whenScaled=2
StatefulSetOrdinals start?:i=1
StatefulSetCondition type!=1 status!=2 lastTransitionTime:t=3 reason=4 message=5
RollingUpdateDeployment maxUnavailable?:x=1 maxSurge?:x=2
RollingUpdateStatefulSetStrategy partition?:i=1 maxUnavailable?:x=2
@networking
Ingress metadata:meta.ObjectMeta=1 spec:IngressSpec=2 status:IngressStatus=3
IngressClass metadata:meta.ObjectMeta=1 spec:IngressClassSpec=2
IngressSpec ingressClassName?=4 defaultBackend?:IngressBackend=1 tls:[]IngressTLS=2
  rules:[]IngressRule=3
IngressStatus loadBalancer:IngressLoadBalancerStatus=1
IngressClassSpec controller=1 parameters?:IngressClassParametersReference=2
IngressBackend service?:IngressServiceBackend=4 resource?:core.TypedLocalObjectReference=3
IngressTLS hosts:[]s=1 secretName=2
IngressRule host=1 *:IngressRuleValue=2
IngressLoadBalancerStatus ingress:[]IngressLoadBalancerIngress=1
IngressClassParametersReference apiGroup?=1 kind!=2 name!=3 scope?=4 namespace?=5
IngressServiceBackend name!=1 port:ServiceBackendPort=2
IngressRuleValue http?:HTTPIngressRuleValue=1
IngressLoadBalancerIngress ip=1 hostname=2 ports:[]IngressPortStatus=4
ServiceBackendPort name=1 number:i=2
HTTPIngressRuleValue paths!:[]HTTPIngressPath=1
IngressPortStatus port!:i=1 protocol!=2 error?=3
HTTPIngressPath path=1 pathType!?=3 backend!:IngressBackend=2
@discovery
EndpointSlice metadata:meta.ObjectMeta=1 addressType!=4 endpoints:[]Endpoint=2
  ports:[]EndpointPort=3
Endpoint addresses!:[]s=1 conditions:EndpointConditions=2 hostname?=3
  targetRef?:core.ObjectReference=4 deprecatedTopology:{}s=5 nodeName?=6 zone?=7
  hints?:EndpointHints=8
EndpointPort name?=1 protocol?=2 port?:i=3 appProtocol?=4
EndpointConditions ready?:b=1 serving?:b=2 terminating?:b=3
EndpointHints forZones:[]ForZone=1 forNodes:[]ForNode=2
ForZone name!=1
ForNode name!=1
@coordination
Lease metadata:meta.ObjectMeta=1 spec:LeaseSpec=2
LeaseSpec holderIdentity?=1 leaseDurationSeconds?:i=2 acquireTime?:u=3 renewTime?:u=4
  leaseTransitions?:i=5 strategy?=6 preferredHolder?=7
@events
Event metadata?:meta.ObjectMeta=1 eventTime!:u=2 series?:EventSeries=3 reportingController=4
  reportingInstance=5 action=6 reason=7 regarding:core.ObjectReference=8
  related?:core.ObjectReference=9 note=10 type=11 deprecatedSource:core.EventSource=12
  deprecatedFirstTimestamp:t=13 deprecatedLastTimestamp:t=14 deprecatedCount:i=15
EventSeries count!:i=1 lastObservedTime!:u=2
@admissionregistration
MutatingWebhookConfiguration metadata:meta.ObjectMeta=1 webhooks:[]MutatingWebhook=2
ValidatingWebhookConfiguration metadata:meta.ObjectMeta=1 webhooks:[]ValidatingWebhook=2
MutatingWebhook name!=1 clientConfig!:WebhookClientConfig=2 rules:[]RuleWithOperations=3
  failurePolicy?=4 matchPolicy?=9 namespaceSelector?:meta.LabelSelector=5
  objectSelector?:meta.LabelSelector=11 sideEffects!?=6 timeoutSeconds?:i=7
  admissionReviewVersions!:[]s=8 reinvocationPolicy?=10 matchConditions:[]MatchCondition=12
ValidatingWebhook name!=1 clientConfig!:WebhookClientConfig=2 rules:[]RuleWithOperations=3
  failurePolicy?=4 matchPolicy?=9 namespaceSelector?:meta.LabelSelector=5
  objectSelector?:meta.LabelSelector=10 sideEffects!?=6 timeoutSeconds?:i=7
  admissionReviewVersions!:[]s=8 matchConditions:[]MatchCondition=11
WebhookClientConfig url?=3 service?:ServiceReference=1 caBundle:y=2
RuleWithOperations operations:[]s=1 *:Rule=2
MatchCondition name!=1 expression!=2
ServiceReference namespace!=1 name!=2 path?=3 port?:i=4
Rule apiGroups:[]s=1 apiVersions:[]s=2 resources:[]s=3 scope?=4
@rbac
Role metadata:meta.ObjectMeta=1 rules:[]PolicyRule=2
RoleBinding metadata:meta.ObjectMeta=1 subjects:[]Subject=2 roleRef!:RoleRef=3
ClusterRole metadata:meta.ObjectMeta=1 rules:[]PolicyRule=2 aggregationRule?:AggregationRule=3
ClusterRoleBinding metadata:meta.ObjectMeta=1 subjects:[]Subject=2 roleRef!:RoleRef=3
PolicyRule verbs!:[]s=1 apiGroups:[]s=2 resources:[]s=3 resourceNames:[]s=4 nonResourceURLs:[]s=5
Subject kind!=1 apiGroup=2 name!=3 namespace=4
RoleRef apiGroup?=1 kind!=2 name!=3
AggregationRule clusterRoleSelectors:[]meta.LabelSelector=1
@flowcontrol
FlowSchema metadata:meta.ObjectMeta=1 spec:FlowSchemaSpec=2 status:FlowSchemaStatus=3
PriorityLevelConfiguration metadata:meta.ObjectMeta=1 spec:PriorityLevelConfigurationSpec=2
  status:PriorityLevelConfigurationStatus=3
FlowSchemaSpec priorityLevelConfiguration!:PriorityLevelConfigurationReference=1
  matchingPrecedence?:i=2 distinguisherMethod?:FlowDistinguisherMethod=3
  rules:[]PolicyRulesWithSubjects=4
FlowSchemaStatus conditions:[]FlowSchemaCondition=1
PriorityLevelConfigurationSpec type!=1 limited?:LimitedPriorityLevelConfiguration=2
  exempt?:ExemptPriorityLevelConfiguration=3
PriorityLevelConfigurationStatus conditions:[]PriorityLevelConfigurationCondition=1
PriorityLevelConfigurationReference name!=1
FlowDistinguisherMethod type!=1
PolicyRulesWithSubjects subjects!:[]Subject=1 resourceRules:[]ResourcePolicyRule=2
  nonResourceRules:[]NonResourcePolicyRule=3
FlowSchemaCondition type=1 status=2 lastTransitionTime:t=3 reason=4 message=5
LimitedPriorityLevelConfiguration nominalConcurrencyShares?:i=1 limitResponse:LimitResponse=2
  lendablePercent?:i=3 borrowingLimitPercent?:i=4
ExemptPriorityLevelConfiguration nominalConcurrencyShares?:i=1 lendablePercent?:i=2
PriorityLevelConfigurationCondition type=1 status=2 lastTransitionTime:t=3 reason=4 message=5
Subject kind!=1 user?:UserSubject=2 group?:GroupSubject=3 serviceAccount?:ServiceAccountSubject=4
ResourcePolicyRule verbs!:[]s=1 apiGroups!:[]s=2 resources!:[]s=3 clusterScope:b=4 namespaces:[]s=5
NonResourcePolicyRule verbs!:[]s=1 nonResourceURLs!:[]s=6
LimitResponse type!=1 queuing?:QueuingConfiguration=2
UserSubject name!=1
GroupSubject name!=1
ServiceAccountSubject namespace!=1 name!=2
QueuingConfiguration queues?:i=1 handSize?:i=2 queueLengthLimit?:i=3
@autoscaling
Scale metadata:meta.ObjectMeta=1 spec:ScaleSpec=2 status:ScaleStatus=3
ScaleSpec replicas:i=1
ScaleStatus replicas!:i=1 selector=2
@authorization
SelfSubjectAccessReview metadata:meta.ObjectMeta=1 spec!:SelfSubjectAccessReviewSpec=2 status:o=3
SelfSubjectRulesReview metadata:meta.ObjectMeta=1 spec!:SelfSubjectRulesReviewSpec=2 status:o=3
SelfSubjectAccessReviewSpec resourceAttributes?:ResourceAttributes=1
  nonResourceAttributes?:NonResourceAttributes=2
SelfSubjectRulesReviewSpec namespace=1
ResourceAttributes namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7
  fieldSelector?:FieldSelectorAttributes=8 labelSelector?:LabelSelectorAttributes=9
NonResourceAttributes path=1 verb=2
FieldSelectorAttributes rawSelector=1 requirements:[]meta.FieldSelectorRequirement=2
LabelSelectorAttributes rawSelector=1 requirements:[]meta.LabelSelectorRequirement=2
@authentication
SelfSubjectReview metadata:meta.ObjectMeta=1 status:o=2
TokenRequest metadata:meta.ObjectMeta=1 spec?:TokenRequestSpec=2 status:TokenRequestStatus=3
TokenRequestSpec audiences:[]s=1 expirationSeconds?:i=4 boundObjectRef?:BoundObjectReference=3
TokenRequestStatus token?=1 expirationTimestamp?:t=2
BoundObjectReference kind=1 apiVersion=2 name=3 uid=4
)";

}  // namespace berth::sim::kube
